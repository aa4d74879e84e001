package io.mockkafka;

import java.util.*;

/**
 * A running cluster: another process, which ends with this JVM, or one that runs already.
 *
 * <p>If {@code MOCK_KAFKA_BOOTSTRAP_SERVERS} and {@code MOCK_KAFKA_ADMIN_URL} are set, it is that cluster.
 * Otherwise the program is the one of the options, of {@code MOCK_KAFKA_COMMAND}, or the first of
 * {@code mock-kafka}, {@code uvx}, {@code docker} and {@code podman} on the {@code PATH}.
 */
public final class MockKafka extends ClusterMethods implements AutoCloseable {
    private static final String LOGIN =
            "org.apache.kafka.common.security.scram.ScramLoginModule required username=%s password=%s;";

    final Map<String, Object> clientProperties;
    final AdminPort port;
    final ClusterProcess process;

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
        if (bootstrapServers.isEmpty() != adminUrl.isEmpty()) {
            throw new MockKafkaException("set both MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL, or none");
        }
        if (adminUrl.isEmpty()) {
            return started(options, options.command(environment));
        }
        MockKafka running = connect(bootstrapServers, adminUrl, options.adminToken());
        // Refuse a cluster with another number of brokers than the options have, if they do.
        int count = options.brokers == null ? 0 : running.admin().listBrokers().size();
        if (options.brokers != null && options.brokers != count) {
            throw new MockKafkaException("the cluster at " + adminUrl + " has " + count
                    + " brokers, and the test asks for " + options.brokers);
        }
        return running;
    }

    private static MockKafka started(MockKafkaOptions options, List<String> command) {
        // It prints its addresses, then the protocol, then the file of the authority.
        String last = options.tls ? "ssl.ca.location" : options.user.isEmpty() ? "admin.url" : "security.protocol";
        ClusterProcess process = new ClusterProcess(command, last, options.startTimeout);
        // In a container it listens on all addresses, and its ports are published on this one.
        String url = process.printed.get("admin.url").replace("//0.0.0.0:", "//127.0.0.1:");
        Map<String, Object> properties = new LinkedHashMap<>(process.printed);
        properties.keySet().retainAll(Set.of("bootstrap.servers", "security.protocol"));
        if (options.tls) {
            properties.put("ssl.truststore.type", "PEM");
            properties.put("ssl.truststore.location", process.printed.get("ssl.ca.location"));
        }
        options.user.entrySet().stream().findFirst().ifPresent(user -> properties.putAll(Map.of(
                "sasl.mechanism", "SCRAM-SHA-256", "sasl.jaas.config",
                String.format(LOGIN, AdminPort.json(user.getKey()), AdminPort.json(user.getValue())))));
        return new MockKafka(properties, new AdminPort(url, options.adminToken()), process);
    }

    /**
     * Return a cluster that runs already; closing it does not stop it.
     *
     * @param adminToken the value of {@code broker.admin.token}, or null
     */
    public static MockKafka connect(String bootstrapServers, String adminUrl, String adminToken) {
        return new MockKafka(Map.of("bootstrap.servers", bootstrapServers), new AdminPort(adminUrl, adminToken), null);
    }

    @Override
    MockKafka cluster() {
        return this;
    }

    /** Return the latest lines that the cluster has logged; none of a cluster that ran already. */
    public List<String> logLines() {
        return process == null ? List.of() : List.copyOf(process.log);
    }

    /** Stop the cluster, unless it ran already. */
    @Override
    public void close() {
        if (process != null) {
            process.close();
        }
    }
}
