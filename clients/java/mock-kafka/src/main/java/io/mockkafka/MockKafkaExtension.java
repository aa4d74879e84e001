package io.mockkafka;

import io.mockkafka.admin.*;
import java.util.*;
import java.util.concurrent.*;
import org.junit.jupiter.api.extension.*;
import org.junit.jupiter.api.extension.ExtensionContext.*;

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

    private MockKafkaOptions options = new MockKafkaOptions();
    private boolean isShared;
    private volatile MockKafka kafka;

    /** Start a cluster with one broker for the tests of a class. */
    public static MockKafkaExtension create() {
        return new MockKafkaExtension();
    }

    /** Start a cluster with these options for the tests of a class. */
    public static MockKafkaExtension create(MockKafkaOptions options) {
        MockKafkaExtension extension = create();
        extension.options = options;
        return extension;
    }

    /** Share one cluster with one broker between all classes of this JVM. */
    public static MockKafkaExtension shared() {
        return shared(new MockKafkaOptions());
    }

    /** Share one cluster between all classes of this JVM that share one with equal options. */
    public static MockKafkaExtension shared(MockKafkaOptions options) {
        MockKafkaExtension extension = create(options);
        extension.isShared = true;
        return extension;
    }

    /** Return the running cluster. */
    @Override
    public MockKafka cluster() {
        if (kafka == null) {
            throw new IllegalStateException("the cluster starts before the first test; @BeforeAll needs static fields");
        }
        return kafka;
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        kafka = started(context);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        kafka = started(context);
        // One test at a time: the store of the context closes after the test, perhaps in another thread.
        context.getStore(NAMESPACE).getOrComputeIfAbsent("use of " + adminUrl(), key -> {
            Semaphore semaphore = IN_USE.computeIfAbsent(adminUrl(), url -> new Semaphore(1));
            semaphore.acquireUninterruptibly();
            return (Store.CloseableResource & AutoCloseable) semaphore::release;
        });
        reset();
    }

    @Override
    public void afterEach(ExtensionContext context) {
        if (context.getExecutionException().isPresent()) {
            ListRequestsQuery query = new ListRequestsQuery().kind(ListRequestsQuery.Kind.REQUEST).limit(LINES_SHOWN);
            List<String> log = cluster().logLines();
            log = log.subList(Math.max(0, log.size() - LINES_SHOWN), log.size());
            String failed = context.getDisplayName() + " failed. The log of its cluster:\n" + String.join("\n", log);
            System.err.println(failed + "\nIts last requests:");
            requests(query.bodies(false)).forEach(request -> System.err.println(request.line()));
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
        ExtensionContext owner = isShared ? context.getRoot() : context;
        while (!isShared && owner.getParent().flatMap(ExtensionContext::getTestClass).isPresent()) {
            owner = owner.getParent().get();
        }
        Store store = owner.getStore(NAMESPACE);
        Object key = isShared ? options.arguments() : this;
        MockKafka started = store.getOrComputeIfAbsent(key, missing -> MockKafka.start(options), MockKafka.class);
        store.getOrComputeIfAbsent(started, missing -> (Store.CloseableResource & AutoCloseable) started::close);
        return started;
    }
}
