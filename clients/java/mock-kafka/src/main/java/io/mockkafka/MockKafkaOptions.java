package io.mockkafka;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** How a cluster starts. A cluster that runs already has its own options. */
public final class MockKafkaOptions {
    private final Map<String, String> config = new LinkedHashMap<>();
    private final Map<String, String> users = new LinkedHashMap<>();
    private List<String> command = List.of();
    private Duration startTimeout = Duration.ofSeconds(30);
    private int brokers = 1;
    private boolean tls;

    /** One broker without TLS and without users. */
    public MockKafkaOptions() {}

    /** Set the number of brokers; their node ids are 1, 2 and so on. */
    public MockKafkaOptions brokers(int brokers) {
        this.brokers = brokers;
        return this;
    }

    /** Set one of Kafka's broker keys, such as {@code num.partitions}. */
    public MockKafkaOptions config(String key, Object value) {
        config.put(key, value.toString());
        return this;
    }

    /** Record acknowledged batches for {@link ClusterMethods#audit}. */
    public MockKafkaOptions audit() {
        return config("audit.enable", true);
    }

    /** Have TLS, with certificates for this cluster. */
    public MockKafkaOptions tls() {
        tls = true;
        return this;
    }

    /** Have clients authenticate with SASL, as one of the users; clientProperties() has the first. */
    public MockKafkaOptions user(String name, String password) {
        users.put(name, password);
        return this;
    }

    /** Start this program, with arguments before {@code serve}, instead of {@code mock-kafka}. */
    public MockKafkaOptions command(String... words) {
        command = List.of(words);
        return this;
    }

    /** Set how long the start may take, by default 30 s. */
    public MockKafkaOptions startTimeout(Duration timeout) {
        startTimeout = timeout;
        return this;
    }

    /** Return the number of brokers. */
    public int brokers() {
        return brokers;
    }

    boolean hasTls() {
        return tls;
    }

    Map<String, String> users() {
        return users;
    }

    List<String> command() {
        return command;
    }

    Duration startTimeout() {
        return startTimeout;
    }

    /** Return the value of {@code broker.admin.token}, or null. */
    public String adminToken() {
        return config.get("broker.admin.token");
    }

    /** Return the arguments of {@code mock-kafka serve} that these options stand for. */
    public List<String> arguments() {
        Map<String, String> keys = new LinkedHashMap<>(config);
        List<String> arguments = new ArrayList<>(List.of("--brokers", Integer.toString(brokers)));
        if (tls) {
            arguments.add("--tls");
        }
        if (!users.isEmpty()) {
            arguments.add("--sasl");
            keys.put("sasl.users", users.entrySet().stream()
                    .map(user -> AdminPort.encoded(user.getKey()) + ":" + AdminPort.encoded(user.getValue()))
                    .collect(Collectors.joining(",")));
        }
        keys.forEach((key, value) -> arguments.addAll(List.of("-o", key + "=" + value)));
        return arguments;
    }
}
