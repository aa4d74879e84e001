package io.mockkafka;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * A cluster for the tests of a class with JUnit 5, or for all tests of the JVM.
 *
 * <p>{@code @ExtendWith(MockKafkaExtension.class)} starts a cluster for a class, as does
 * {@code @RegisterExtension static MockKafkaExtension kafka = MockKafkaExtension.create();}. It is reset before each
 * test. A parameter of the type {@link MockKafka} is the cluster. A failing test prints the last requests and
 * the log of the cluster. Tests that share a cluster wait for each other, also when JUnit runs them in parallel.
 */
public final class MockKafkaExtension extends ClusterMethods
        implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback, ParameterResolver {
    private static final Namespace NAMESPACE = Namespace.create(MockKafkaExtension.class);
    private static final Map<String, Semaphore> IN_USE = new ConcurrentHashMap<>();
    private static final int LINES_SHOWN = 20;

    private final MockKafkaOptions options;
    private final boolean isShared;
    private volatile MockKafka kafka;

    /** Start a cluster with one broker for the tests of a class. */
    public MockKafkaExtension() {
        this(new MockKafkaOptions(), false);
    }

    private MockKafkaExtension(MockKafkaOptions options, boolean isShared) {
        this.options = options;
        this.isShared = isShared;
    }

    /** Start a cluster with one broker for the tests of a class. */
    public static MockKafkaExtension create() {
        return create(new MockKafkaOptions());
    }

    /** Start a cluster with these options for the tests of a class. */
    public static MockKafkaExtension create(MockKafkaOptions options) {
        return new MockKafkaExtension(options, false);
    }

    /** Share one cluster with one broker between all classes of this JVM. */
    public static MockKafkaExtension shared() {
        return shared(new MockKafkaOptions());
    }

    /** Share one cluster between all classes of this JVM that share one with equal options. */
    public static MockKafkaExtension shared(MockKafkaOptions options) {
        return new MockKafkaExtension(options, true);
    }

    /** Return the running cluster. */
    public MockKafka cluster() {
        if (kafka == null) {
            throw new IllegalStateException("the cluster starts before the first test of the class:"
                    + " make the field of @RegisterExtension static to use it in @BeforeAll");
        }
        return kafka;
    }

    @Override
    AdminPort port() {
        return cluster().port();
    }

    @Override
    public String bootstrapServers() {
        return cluster().bootstrapServers();
    }

    @Override
    public Map<String, Object> clientProperties() {
        return cluster().clientProperties();
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        kafka = started(context);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        kafka = started(context);
        // The store of the context closes after the test, and others may use the cluster then.
        context.getStore(NAMESPACE).getOrComputeIfAbsent("use of " + adminUrl(), key -> new Use(adminUrl()));
        reset();
    }

    @Override
    public void afterEach(ExtensionContext context) {
        if (context.getExecutionException().isPresent()) {
            System.err.println(context.getDisplayName() + " failed. The last requests of its cluster:\n" + seen());
        }
    }

    private String seen() {
        List<String> log = cluster().logLines();
        String lines = String.join("\n", log.subList(Math.max(0, log.size() - LINES_SHOWN), log.size()));
        try {
            return lastRequests(LINES_SHOWN) + "\nIts log:\n" + lines;
        } catch (MockKafkaException error) { // the error of the test comes first
            return error.getMessage() + "\nIts log:\n" + lines;
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == MockKafka.class;
    }

    @Override
    public MockKafka resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return started(context);
    }

    private MockKafka started(ExtensionContext context) {
        ExtensionContext owner = context;
        while (!isShared && owner.getParent().flatMap(ExtensionContext::getTestClass).isPresent()) {
            owner = owner.getParent().get();
        }
        Object key = isShared ? options.arguments() : this;
        ExtensionContext.Store store = (isShared ? context.getRoot() : owner).getStore(NAMESPACE);
        return store.getOrComputeIfAbsent(key, missing -> new Started(MockKafka.start(options)), Started.class).kafka;
    }

    private static final class Started implements CloseableResource, AutoCloseable {
        private final MockKafka kafka;

        Started(MockKafka kafka) {
            this.kafka = kafka;
        }

        @Override
        public void close() {
            kafka.close();
        }
    }

    /** One test at a time. A semaphore, because JUnit may close the store in another thread. */
    private static final class Use implements CloseableResource, AutoCloseable {
        private final Semaphore semaphore;

        Use(String adminUrl) {
            semaphore = IN_USE.computeIfAbsent(adminUrl, url -> new Semaphore(1));
            semaphore.acquireUninterruptibly();
        }

        @Override
        public void close() {
            semaphore.release();
        }
    }
}
