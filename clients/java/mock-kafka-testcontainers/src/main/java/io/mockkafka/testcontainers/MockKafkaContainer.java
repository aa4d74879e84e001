package io.mockkafka.testcontainers;

import com.github.dockerjava.api.command.InspectContainerResponse;
import io.mockkafka.MockKafka;
import io.mockkafka.MockKafkaOptions;
import io.mockkafka.admin.AdvertisedBody;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * A cluster in a container. The engine maps its ports to random ones, which the brokers advertise, so clients on
 * this machine reach every broker.
 */
public class MockKafkaContainer extends GenericContainer<MockKafkaContainer> {
    private static final int FIRST_PORT = 9092;
    private static final int ADMIN_PORT = 9099;
    private static final int BROKERS_MAX = ADMIN_PORT - FIRST_PORT;

    private final MockKafkaOptions options;
    private MockKafka kafka;

    /** Have one broker of the image {@code mock-kafka}. */
    public MockKafkaContainer() {
        this(DockerImageName.parse("mock-kafka"), new MockKafkaOptions());
    }

    /**
     * Have a cluster of an image with these options, at most 7 brokers, without TLS and users.
     *
     * @throws IllegalArgumentException there are more brokers
     */
    public MockKafkaContainer(DockerImageName image, MockKafkaOptions options) {
        super(image);
        this.options = options;
        if (options.brokers() > BROKERS_MAX) {
            throw new IllegalArgumentException("brokers is at most " + BROKERS_MAX + ", not " + options.brokers());
        }
        withExposedPorts(Stream.concat(brokerPorts().stream(), Stream.of(ADMIN_PORT)).toArray(Integer[]::new));
        List<String> command = new ArrayList<>(List.of("serve"));
        command.addAll(options.arguments());
        withCommand(command.toArray(String[]::new));
        waitingFor(Wait.forLogMessage(".*admin\\.url=.*", 1));
    }

    private List<Integer> brokerPorts() {
        return IntStream.range(FIRST_PORT, FIRST_PORT + options.brokers()).boxed().collect(Collectors.toList());
    }

    @Override
    protected void containerIsStarted(InspectContainerResponse info) {
        String address = address();
        List<Integer> mapped = brokerPorts().stream().map(this::getMappedPort).collect(Collectors.toList());
        String servers = mapped.stream().map(port -> address + ":" + port).collect(Collectors.joining(","));
        String adminUrl = "http://" + address + ":" + getMappedPort(ADMIN_PORT);
        kafka = MockKafka.connect(servers, adminUrl, options.adminToken());
        for (int index = 0; index < mapped.size(); index++) {
            AdvertisedBody advertised = new AdvertisedBody().host(address).port(mapped.get(index));
            kafka.admin().advertiseAddress(index + 1, advertised);
        }
    }

    /** Return the address of the host: the admin port accepts addresses, and only names that it allows. */
    private String address() {
        try {
            return InetAddress.getByName(getHost()).getHostAddress();
        } catch (UnknownHostException error) {
            throw new IllegalStateException("the host of the container is unknown: " + getHost(), error);
        }
    }

    /**
     * Return the running cluster, for its faults, clock and records.
     *
     * @throws IllegalStateException the container is not running
     */
    public MockKafka kafka() {
        if (kafka == null) {
            throw new IllegalStateException("the container is not running: call start() first");
        }
        return kafka;
    }

    /** Return {@code HOST:PORT} of every broker on this machine, comma-separated. */
    public String getBootstrapServers() {
        return kafka().bootstrapServers();
    }
}
