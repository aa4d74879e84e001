package io.mockkafka;

import java.time.Duration;
import java.util.*;

/** How a cluster starts. One that runs already has its own options, and is refused if it has another number of brokers. */
public final class MockKafkaOptions {
    private final Map<String, String> config = new LinkedHashMap<>();
    final Map<String, String> users = new LinkedHashMap<>();
    List<String> command = List.of();
    Duration startTimeout = Duration.ofSeconds(30);
    Integer brokers;
    boolean hasTls;

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
        hasTls = true;
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

    /** Return the number of brokers, by default 1. */
    public int brokers() {
        return brokers == null ? 1 : brokers;
    }

    /** Return the value of {@code broker.admin.token}, or null. */
    public String adminToken() {
        return config.get("broker.admin.token");
    }

    /** Return the arguments of {@code mock-kafka serve} that these options stand for. */
    public List<String> arguments() {
        List<String> arguments = new ArrayList<>(brokers == null ? List.of() : List.of("--brokers", "" + brokers));
        if (hasTls) {
            arguments.add("--tls");
        }
        if (!users.isEmpty()) {
            StringJoiner list = new StringJoiner(",", "sasl.users=", "");
            users.forEach((name, password) -> list.add(AdminPort.encoded(name) + ":" + AdminPort.encoded(password)));
            arguments.addAll(List.of("--sasl", "-o", list.toString()));
        }
        config.forEach((key, value) -> arguments.addAll(List.of("-o", key + "=" + value)));
        return arguments;
    }
}
