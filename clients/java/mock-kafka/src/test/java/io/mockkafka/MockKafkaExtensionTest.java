package io.mockkafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.mockkafka.admin.Api;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;

@Timeout(60)
class MockKafkaExtensionTest {
    private static final List<MockKafka> seen = Collections.synchronizedList(new ArrayList<>());

    @BeforeEach
    void forget() {
        seen.clear();
    }

    private static Events run(Class<?>... classes) {
        EngineTestKit.Builder kit = EngineTestKit.engine("junit-jupiter")
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "true")
                .configurationParameter("junit.jupiter.execution.parallel.mode.default", "concurrent")
                .configurationParameter("junit.jupiter.execution.parallel.config.strategy", "fixed")
                .configurationParameter("junit.jupiter.execution.parallel.config.fixed.parallelism", "4");
        for (Class<?> one : classes) {
            kit.selectors(selectClass(one));
        }
        return kit.execute().testEvents();
    }

    @ExtendWith(MockKafkaExtension.class)
    static class ParameterCase {
        private final MockKafka ofConstructor;

        ParameterCase(MockKafka kafka) {
            ofConstructor = kafka;
        }

        @BeforeAll
        static void create(MockKafka kafka) {
            kafka.createTopic("of-before-all", 1);
        }

        @RepeatedTest(5)
        void isEmpty(MockKafka kafka) {
            assertEquals(List.of(), kafka.topics());
            kafka.createTopic("orders", 1);
            assertSame(ofConstructor, kafka);
            seen.add(kafka);
        }

        @Nested
        class Inside {
            @Test
            void hasTheSame(MockKafka kafka) {
                assertEquals(List.of(), kafka.topics());
                seen.add(kafka);
            }
        }
    }

    @Test
    void aClassHasOneClusterThatIsResetBeforeEachTest() {
        run(ParameterCase.class).assertStatistics(all -> all.started(6).succeeded(6));
        assertEquals(1, seen.stream().distinct().count());
        assertTrue(ProcessHandle.of(seen.get(0).process.process.pid()).isEmpty());
    }

    static class OwnCase {
        private static final AtomicInteger running = new AtomicInteger();

        @RegisterExtension
        static MockKafkaExtension kafka = MockKafkaExtension.create();

        @RepeatedTest(8)
        void runsAlone() {
            assertEquals(1, running.incrementAndGet());
            assertEquals(List.of(), kafka.topics());
            kafka.produce("orders", "one coffee");
            seen.add(kafka.cluster());
            assertEquals(0, running.decrementAndGet());
        }
    }

    @Test
    void testsThatShareAClusterDoNotRunAtTheSameTime() {
        run(OwnCase.class, ParameterCase.class).assertStatistics(all -> all.started(14).succeeded(14));
        assertEquals(2, seen.stream().distinct().count());
    }

    static class SharedCase {
        @RegisterExtension
        static MockKafkaExtension kafka = MockKafkaExtension.shared(new MockKafkaOptions().brokers(2));

        @Test
        void usesIt() {
            seen.add(kafka.cluster());
        }
    }

    static class AlsoSharedCase {
        @RegisterExtension
        MockKafkaExtension kafka = MockKafkaExtension.shared(new MockKafkaOptions().brokers(2));

        @Test
        void usesIt() {
            seen.add(kafka.cluster());
        }
    }

    static class OtherSharedCase {
        @RegisterExtension
        static MockKafkaExtension kafka = MockKafkaExtension.shared();

        @Test
        void usesAnother() {
            seen.add(kafka.cluster());
        }
    }

    @Test
    void classesShareAClusterWithEqualOptions() {
        run(SharedCase.class, AlsoSharedCase.class).assertStatistics(all -> all.succeeded(2));
        assertSame(seen.get(0), seen.get(1));
        seen.clear();
        run(SharedCase.class, OtherSharedCase.class).assertStatistics(all -> all.succeeded(2));
        assertNotEquals(seen.get(0), seen.get(1));
    }

    @ExtendWith(MockKafkaExtension.class)
    static class FailingCase {
        @Test
        void sendsAndFails(MockKafka kafka) throws Exception {
            kafka.dropResponse(Fault.on(Api.PRODUCE).times(1));
            try (KafkaProducer<String, String> producer = new KafkaProducer<>(
                    kafka.clientProperties(), new StringSerializer(), new StringSerializer())) {
                producer.send(new ProducerRecord<>("orders", "one coffee")).get();
            }
            fail("on purpose");
        }
    }

    @Test
    void aFailingTestShowsTheLastRequests() {
        PrintStream original = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setErr(new PrintStream(printed, true));
        try {
            run(FailingCase.class).assertStatistics(all -> all.failed(1));
        } finally {
            System.setErr(original);
        }
        String text = printed.toString();
        assertTrue(text.contains("sendsAndFails(MockKafka) failed"), text);
        assertTrue(text.matches("(?s).*Produce v\\d+ orders -> .*\\[.*drop.*"), text);
    }
}
