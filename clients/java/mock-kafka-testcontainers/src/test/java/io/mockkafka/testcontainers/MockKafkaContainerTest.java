package io.mockkafka.testcontainers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.mockkafka.MockKafka;
import io.mockkafka.MockKafkaExtension;
import io.mockkafka.MockKafkaOptions;
import io.mockkafka.admin.Api;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.testcontainers.utility.DockerImageName;

/** What needs no container engine: the ports of the container are those of a cluster on this machine. */
@Timeout(60)
class MockKafkaContainerTest {
    private static final DockerImageName IMAGE = DockerImageName.parse("mock-kafka:1");

    @RegisterExtension
    static final MockKafkaExtension cluster = MockKafkaExtension.create(new MockKafkaOptions().brokers(2));

    private static class MappedContainer extends MockKafkaContainer {
        MappedContainer(MockKafkaOptions options) {
            super(IMAGE, options);
        }

        @Override
        public String getHost() {
            return "localhost";
        }

        @Override
        public Integer getMappedPort(int port) {
            if (port == 9099) {
                return URI.create(cluster.adminUrl()).getPort();
            }
            String[] servers = cluster.bootstrapServers().split(",");
            return Integer.valueOf(servers[port - 9092].split(":")[1]);
        }

        void started() {
            containerIsStarted(null);
        }
    }

    @Test
    void theBrokersAdvertiseTheMappedPorts() throws Exception {
        try (MappedContainer container = new MappedContainer(new MockKafkaOptions().brokers(2))) {
            assertThrows(IllegalStateException.class, container::kafka);

            container.started();
            MockKafka kafka = container.kafka();
            assertEquals(cluster.bootstrapServers(), container.getBootstrapServers());
            Map<String, Object> properties = kafka.clientProperties();
            try (KafkaProducer<String, String> producer =
                    new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
                producer.send(new ProducerRecord<>("orders", "one coffee")).get();
            }
            assertEquals("one coffee", kafka.records("orders").get(0).value());
            assertEquals(1, kafka.requests(Api.PRODUCE).size());
        }
    }

    @Test
    void anAddressOfTheContainerIsAdvertised() {
        int[] port = {50_001};
        MappedContainer container = new MappedContainer(new MockKafkaOptions().brokers(2)) {
            @Override
            public Integer getMappedPort(int number) {
                return number == 9099 ? super.getMappedPort(number) : Integer.valueOf(port[0]++);
            }
        };
        container.started();
        assertEquals("127.0.0.1:50001,127.0.0.1:50002", container.getBootstrapServers());
        assertEquals(50_002, cluster.admin().listBrokers().get(1).port());
        container.close();
    }

    @Test
    void theOptionsBecomeTheCommandAndThePorts() {
        try (MockKafkaContainer container = new MockKafkaContainer(
                IMAGE, new MockKafkaOptions().brokers(3).config("num.partitions", 6))) {
            assertEquals(List.of(9092, 9093, 9094, 9099), container.getExposedPorts());
            assertEquals(
                    List.of("serve", "--brokers", "3", "-o", "num.partitions=6"),
                    List.of(container.getCommandParts()));
        }
        MockKafkaOptions many = new MockKafkaOptions().brokers(8);
        assertThrows(IllegalArgumentException.class, () -> new MockKafkaContainer(IMAGE, many));
    }
}
