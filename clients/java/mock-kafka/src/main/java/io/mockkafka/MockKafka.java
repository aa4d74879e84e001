package io.mockkafka;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A running cluster: a process of its own, which ends with this JVM, or one that runs already.
 *
 * <p>If {@code MOCK_KAFKA_BOOTSTRAP_SERVERS} and {@code MOCK_KAFKA_ADMIN_URL} are set, it is that cluster.
 * Otherwise the program is the one of the options, of {@code MOCK_KAFKA_COMMAND}, or the first of
 * {@code mock-kafka}, {@code uvx}, {@code docker} and {@code podman} on the {@code PATH}.
 */
public final class MockKafka extends ClusterMethods implements AutoCloseable {
    private final Map<String, Object> clientProperties;
    private final AdminPort port;
    private final ClusterProcess process;

    private MockKafka(Map<String, Object> clientProperties, AdminPort port, ClusterProcess process) {
        this.clientProperties = clientProperties;
        this.port = port;
        this.process = process;
    }

    /** Start a cluster with one broker. */
    public static MockKafka start() {
        return start(new MockKafkaOptions());
    }

    /**
     * Start a cluster.
     *
     * @throws MockKafkaException the program is not here, or did not start; the message says why
     */
    public static MockKafka start(MockKafkaOptions options) {
        return start(options, System.getenv());
    }

    static MockKafka start(MockKafkaOptions options, Map<String, String> environment) {
        String bootstrapServers = environment.getOrDefault("MOCK_KAFKA_BOOTSTRAP_SERVERS", "");
        String adminUrl = environment.getOrDefault("MOCK_KAFKA_ADMIN_URL", "");
        if (!bootstrapServers.isEmpty() && !adminUrl.isEmpty()) {
            return connect(bootstrapServers, adminUrl, options.adminToken());
        }
        Launcher launcher = new Launcher(options, environment);
        ClusterProcess process = new ClusterProcess(launcher.command());
        List<String> keys = new ArrayList<>(List.of("bootstrap.servers", "admin.url"));
        if (options.hasTls()) {
            keys.add("ssl.ca.location");
        }
        if (options.hasTls() || !options.users().isEmpty()) {
            keys.add("security.protocol");
        }
        Map<String, String> printed = process.await(keys, options.startTimeout());
        String url = launcher.adminUrl() == null ? printed.get("admin.url") : launcher.adminUrl();
        return new MockKafka(properties(printed, options), new AdminPort(url, options.adminToken()), process);
    }

    /**
     * Return a cluster that runs already; closing it does not stop it.
     *
     * @param adminToken the value of {@code broker.admin.token}, or null
     */
    public static MockKafka connect(String bootstrapServers, String adminUrl, String adminToken) {
        return new MockKafka(
                Map.of("bootstrap.servers", bootstrapServers), new AdminPort(adminUrl, adminToken), null);
    }

    private static Map<String, Object> properties(Map<String, String> printed, MockKafkaOptions options) {
        Map<String, Object> properties = new LinkedHashMap<>();
        properties.put("bootstrap.servers", printed.get("bootstrap.servers"));
        if (printed.containsKey("security.protocol")) {
            properties.put("security.protocol", printed.get("security.protocol"));
        }
        if (options.hasTls()) {
            properties.put("ssl.truststore.type", "PEM");
            properties.put("ssl.truststore.location", printed.get("ssl.ca.location"));
        }
        options.users().entrySet().stream().findFirst().ifPresent(user -> {
            properties.put("sasl.mechanism", "SCRAM-SHA-256");
            properties.put("sasl.jaas.config", "org.apache.kafka.common.security.scram.ScramLoginModule required"
                    + " username=" + quoted(user.getKey()) + " password=" + quoted(user.getValue()) + ";");
        });
        return properties;
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    @Override
    AdminPort port() {
        return port;
    }

    @Override
    public String bootstrapServers() {
        return (String) clientProperties.get("bootstrap.servers");
    }

    @Override
    public Map<String, Object> clientProperties() {
        return new LinkedHashMap<>(clientProperties);
    }

    /** Return the latest lines that the cluster has logged; none of a cluster that ran already. */
    public List<String> logLines() {
        return process == null ? List.of() : process.logLines();
    }

    /** Return the id of the process; 0 of a cluster that ran already. */
    long pid() {
        return process == null ? 0 : process.pid();
    }

    /** Stop the cluster, unless it ran already. */
    @Override
    public void close() {
        if (process != null) {
            process.close();
        }
    }
}
