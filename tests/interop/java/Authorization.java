import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.internals.CidrUtils;

/**
 * Prints what Apache Kafka's authorizer decides. Each line of the standard input is a command with
 * tabs between its words:
 * "new", super users, allow.everyone.if.no.acl.found: begins without rules;
 * "add", and the seven fields of a rule;
 * "ask", user, address, operation, resource type and name: prints ALLOWED or DENIED;
 * "any", user, address, operation, resource type: the same for any resource of the type;
 * "check", and the seven fields of a rule: prints why it cannot be created, or "-";
 * "range", address, pattern: prints whether the address is in the range.
 */
public final class Authorization {
    private static StandardAuthorizer authorizer;

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            switch (words[0]) {
                case "new":
                    begin(words[1], words[2]);
                    break;
                case "add":
                    authorizer.addAcl(Uuid.randomUuid(), StandardAcl.fromAclBinding(acl(words)));
                    break;
                case "ask":
                    System.out.println(ask(words));
                    break;
                case "any":
                    System.out.println(authorizer.authorizeByResourceType(
                        new Client(words[1], words[2]),
                        AclOperation.valueOf(words[3]),
                        ResourceType.valueOf(words[4])));
                    break;
                case "check":
                    System.out.println(check(acl(words)));
                    break;
                case "range":
                    System.out.println(CidrUtils.isInRange(words[1], words[2]));
                    break;
                default:
                    throw new IllegalArgumentException(line);
            }
        }
    }

    private static void begin(String superUsers, String allowsWithoutAcl) throws IOException {
        authorizer = new StandardAuthorizer();
        authorizer.configure(Map.of(
            "super.users", superUsers, "allow.everyone.if.no.acl.found", allowsWithoutAcl));
        authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        authorizer.completeInitialLoad();
    }

    private static AclBinding acl(String[] words) {
        return new AclBinding(
            new ResourcePattern(
                ResourceType.valueOf(words[1]), words[2], PatternType.valueOf(words[3])),
            new AccessControlEntry(
                words[4],
                words[5],
                AclOperation.valueOf(words[6]),
                AclPermissionType.valueOf(words[7])));
    }

    private static Object ask(String[] words) throws IOException {
        ResourcePattern resource =
            new ResourcePattern(ResourceType.valueOf(words[4]), words[5], PatternType.LITERAL);
        Action action = new Action(AclOperation.valueOf(words[3]), resource, 1, true, true);
        return authorizer.authorize(new Client(words[1], words[2]), List.of(action)).get(0);
    }

    private static String check(AclBinding acl) throws ReflectiveOperationException {
        Method method = Class.forName("org.apache.kafka.controller.AclControlManager")
            .getDeclaredMethod("validateNewAcl", AclBinding.class, boolean.class);
        method.setAccessible(true);
        try {
            method.invoke(null, acl, true);
            return "-";
        } catch (InvocationTargetException error) {
            return error.getCause().getMessage();
        }
    }

    private static final class Client implements AuthorizableRequestContext {
        private final KafkaPrincipal principal;
        private final InetAddress address;

        Client(String user, String address) throws IOException {
            this.principal = new KafkaPrincipal(KafkaPrincipal.USER_TYPE, user);
            this.address = InetAddress.getByName(address);
        }

        @Override
        public String listenerName() {
            return "PLAINTEXT";
        }

        @Override
        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        @Override
        public KafkaPrincipal principal() {
            return principal;
        }

        @Override
        public InetAddress clientAddress() {
            return address;
        }

        @Override
        public int requestType() {
            return 0;
        }

        @Override
        public int requestVersion() {
            return 0;
        }

        @Override
        public String clientId() {
            return "client";
        }

        @Override
        public int correlationId() {
            return 0;
        }
    }
}
