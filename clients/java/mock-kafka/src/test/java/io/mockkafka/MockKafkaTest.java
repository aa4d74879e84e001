package io.mockkafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mockkafka.admin.Api;
import io.mockkafka.admin.BytesBody;
import io.mockkafka.admin.ClockBody;
import io.mockkafka.admin.ErrorCode;
import io.mockkafka.admin.FaultRule;
import io.mockkafka.admin.GetRecordsQuery;
import io.mockkafka.admin.GroupView;
import io.mockkafka.admin.HeaderBody;
import io.mockkafka.admin.ListRequestsQuery;
import io.mockkafka.admin.NewTopicBody;
import io.mockkafka.admin.RecordBody;
import io.mockkafka.admin.RequestView;
import io.mockkafka.admin.Snapshot;
import io.mockkafka.admin.TruncateBody;
import io.mockkafka.admin.WaitForRequestQuery;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class MockKafkaTest {
    @RegisterExtension
    static final MockKafkaExtension kafka =
            MockKafkaExtension.create(new MockKafkaOptions().brokers(3).audit());

    private static KafkaProducer<String, String> producer(Map<String, Object> more) {
        Map<String, Object> properties = kafka.clientProperties();
        properties.putAll(more);
        return new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
    }

    private static KafkaConsumer<String, String> consumer(String group) {
        Map<String, Object> properties = kafka.clientProperties();
        properties.putAll(Map.of("group.id", group, "auto.offset.reset", "earliest"));
        return new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
    }

    private static void join(KafkaConsumer<String, String> consumer, String topic) {
        consumer.subscribe(List.of(topic));
        while (consumer.assignment().isEmpty()) {
            consumer.poll(Duration.ofMillis(100));
        }
    }

    private static void send(String topic, String... values) throws Exception {
        try (KafkaProducer<String, String> producer = producer(Map.of())) {
            for (String value : values) {
                producer.send(new ProducerRecord<>(topic, value)).get();
            }
        }
    }

    private static List<String> values(List<StoredRecord> records) {
        return records.stream().map(StoredRecord::value).collect(Collectors.toList());
    }

    @Test
    void aRecordReachesAConsumer() throws Exception {
        kafka.createTopic("orders", 1);
        send("orders", "one coffee", "two teas");
        try (KafkaConsumer<String, String> consumer = consumer("billing")) {
            consumer.subscribe(List.of("orders"));
            int count = 0;
            while (count < 2) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
                    assertEquals(kafka.records("orders").get(count++).value(), record.value());
                }
            }
            assertEquals(1, kafka.waitForStable("billing", 1).members().size());
            consumer.commitSync();
        }
        TopicPartition partition = new TopicPartition("orders", 0);
        assertEquals(Map.of(partition, 2L), kafka.committed("billing"));
        kafka.produce("orders", "three juices");
        assertEquals(Map.of(partition, 1L), kafka.lag("billing"));
    }

    @Test
    void aBatchWhoseAcknowledgementIsLostIsStoredOnce() throws Exception {
        Fault lost = kafka.dropResponse(Fault.on(Api.PRODUCE).times(1));
        send("orders", "one coffee");
        assertEquals(List.of("one coffee"), values(kafka.waitForRecords("orders", 1)));
        assertEquals(1, lost.count());
        assertEquals(2, kafka.requests(Api.PRODUCE).size());
        assertTrue(lost.isUsedUp());
        kafka.audit().assertClean();
    }

    @Test
    void aProducerRetriesErrorsAndReportsOthers() throws Exception {
        FaultRule orders = Fault.on(Api.PRODUCE).topic("orders").times(2);
        Fault retried = kafka.fail(orders, ErrorCode.NOT_ENOUGH_REPLICAS);
        send("orders", "one coffee");
        assertEquals(2, retried.count());
        kafka.fail(orders, ErrorCode.TOPIC_AUTHORIZATION_FAILED);
        ExecutionException error = assertThrows(ExecutionException.class, () -> send("orders", "two teas"));
        assertEquals(TopicAuthorizationException.class, error.getCause().getClass());
        assertEquals(2, kafka.faults().size());
        kafka.clearFaults();
        assertEquals(List.of(), kafka.faults());
        assertThrows(IllegalStateException.class, retried::count);
    }

    @Test
    void everyMethodForFaultsActs() throws Exception {
        kafka.createTopic("orders", 1);
        List<Fault> faults = List.of(
                kafka.dropRequest(Fault.on(Api.PRODUCE).nth(1)),
                kafka.delay(Fault.on(Api.PRODUCE).nth(2), Duration.ofMillis(5)),
                kafka.throttle(Fault.on(Api.PRODUCE).nth(3), Duration.ofMillis(5)),
                kafka.respond(Fault.on(Api.METADATA), Map.of("controller_id", 2)),
                kafka.addFault(Fault.on(Api.METADATA).leader("next").topic("orders").times(1)));
        send("orders", "one coffee", "two teas", "three juices");
        for (Fault fault : faults) {
            assertTrue(fault.count() >= 1, fault.toString());
        }
        RequestView metadata = kafka.waitForRequest(Api.METADATA);
        assertEquals(2, metadata.response().get("controller_id").asInt());
        faults.get(0).remove();
        assertEquals(4, kafka.faults().size());
    }

    @Test
    void aHeldRequestGoesOnWhenItIsReleased() throws Exception {
        kafka.createTopic("orders", 1);
        kafka.createTopic("invoices", 1);
        String count = "topic_data[].partition_data[].records.batches[].record_count";
        FaultRule orders = Fault.on(Api.PRODUCE).topic("orders").where(Map.of(count, Map.of("min", 1)));
        try (KafkaProducer<String, String> producer = producer(Map.of());
                Hold held = kafka.hold(orders.hold(FaultRule.Hold.BEFORE_RESPONSE))) {
            Future<RecordMetadata> sent = producer.send(new ProducerRecord<>("orders", "one coffee"));
            held.await(1);
            kafka.advance(Duration.ofSeconds(20));
            send("invoices", "1");
            assertEquals(1, held.heldCount());
            assertEquals(List.of("one coffee"), values(kafka.records("orders")));
            assertFalse(sent.isDone());
            held.release(1);
            assertEquals(0, sent.get().offset());
            Fault refused = kafka.fail(Fault.on(Api.PRODUCE).times(1), ErrorCode.NOT_LEADER_OR_FOLLOWER);
            AssertionError error = assertThrows(AssertionError.class, () -> refused.await(2, Duration.ofMillis(1)));
            assertTrue(error.getMessage().contains("fired 0 of 2 in 0.001 s, and matched 0"), error.getMessage());
            held.release();
            send("orders", "two teas");
            refused.await(1);
            assertEquals(List.of(true, false), List.of(held.isUsedUp(), refused.isArmed()));
        }
    }

    @Test
    void aRuleMayHaveFieldsOfItsAction() {
        Fault hanging = kafka.hang(Fault.on(Api.FETCH).hang(FaultRule.Hang.BEFORE_HANDLING));
        assertEquals("before_handling", hanging.rule().hang().toString());
        Fault cut = kafka.dropResponse(Fault.on(Api.FETCH).dropAfterBytes(3));
        assertEquals("within_response", cut.rule().drop().toString());
    }

    @Test
    void aHangingRequestWaitsUntilItsClientGivesUp() {
        kafka.createTopic("orders", 1);
        kafka.hang(Fault.on(Api.PRODUCE));
        Map<String, Object> impatient = Map.of("delivery.timeout.ms", 300, "request.timeout.ms", 200, "linger.ms", 0);
        try (KafkaProducer<String, String> producer = producer(impatient)) {
            assertThrows(ExecutionException.class, () -> producer.send(new ProducerRecord<>("orders", "tea")).get());
        }
    }

    @Test
    void theClockEndsTheSessionOfAMember() {
        kafka.createTopic("orders", 1);
        try (KafkaConsumer<String, String> consumer = consumer("billing")) {
            join(consumer, "orders");
            kafka.setClock(new ClockBody().mode(ClockBody.Mode.STANDING));
            Instant before = kafka.now();
            assertEquals(before.plus(Duration.ofMinutes(5)), kafka.advance(Duration.ofMinutes(5)));
            GroupView group = kafka.groups().get(0);
            assertEquals(List.of(), group.members());
            assertEquals("Empty", group.state());
        }
    }

    @Test
    void recordsHaveWhatWasStored() {
        byte[] bytes = {(byte) 0xff, 0};
        Instant time = Instant.ofEpochMilli(1_700_000_000_000L);
        kafka.createTopic(new NewTopicBody().name("orders").partitions(2).config(Map.of("retention.ms", "-1")));
        kafka.produce("orders", List.of(new RecordBody().key("k").value(new BytesBody().base64("/wA="))
                .partition(1).timestamp(time.toEpochMilli()).headers(List.of(new HeaderBody().key("h").value("v")))));
        kafka.produce("orders", "text");
        StoredRecord record = kafka.records("orders", new GetRecordsQuery().partition(1)).get(0);
        assertEquals("k", record.key());
        assertEquals(List.of(bytes[0], bytes[1]), List.of(record.valueBytes()[0], record.valueBytes()[1]));
        assertEquals(time, record.timestamp());
        assertEquals("h", record.headers().get(0).getKey());
        assertEquals("v", new String(record.headers().get(0).getValue()));
        assertEquals(2, kafka.records("orders").size());
        assertEquals("-1", kafka.topics().get(0).config().get("retention.ms"));
    }

    @Test
    void leadersCoordinatorsAndBrokersMove() throws Exception {
        kafka.createTopic(new NewTopicBody().name("orders").partitions(1).replicationFactor(3));
        send("orders", "one coffee");
        int leader = kafka.topics().get(0).partitions().get(0).leader();
        int next = leader % 3 + 1;
        kafka.moveLeader("orders", 0, next);
        assertEquals(next, kafka.topics().get(0).partitions().get(0).leader());
        kafka.moveLeader("orders", 0, null);
        assertEquals(null, kafka.topics().get(0).partitions().get(0).leader());
        kafka.moveLeader("orders", 0, next);
        kafka.stopBroker(next);
        assertTrue(kafka.topics().get(0).partitions().get(0).leader() != next);
        kafka.startBroker(next);
        assertTrue(kafka.admin().listBrokers().stream().allMatch(broker -> broker.isAlive()));
        try (KafkaConsumer<String, String> consumer = consumer("billing")) {
            join(consumer, "orders");
            kafka.waitForStable("billing", 1);
            kafka.moveCoordinator("billing", leader);
            assertEquals(leader, kafka.groups().get(0).coordinator());
        }
    }

    @Test
    void aQuotaThrottles() throws Exception {
        kafka.quota(Map.of("client-id", "slow"), Map.of("producer_byte_rate", 1.0));
        Map<String, Object> slow = Map.of("client.id", "slow");
        try (KafkaProducer<String, String> producer = producer(slow)) {
            producer.send(new ProducerRecord<>("orders", "one coffee")).get();
        }
        List<RequestView> sent = kafka.requests(new ListRequestsQuery().api(Api.PRODUCE).clientId("slow"));
        assertTrue(sent.get(0).throttleTimeMs() > 0, sent.toString());
        Map<String, String> everyUser = new HashMap<>();
        everyUser.put("user", null);
        kafka.quota(everyUser, Map.of("consumer_byte_rate", 5.0));
        assertEquals(2, kafka.admin().listQuotas().size());
    }

    @Test
    void aTransactionIsSeen() throws Exception {
        try (KafkaProducer<String, String> producer = producer(Map.of("transactional.id", "billing"))) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("orders", "one coffee")).get();
            assertEquals("Ongoing", kafka.transactions().get(0).state());
            producer.abortTransaction();
        }
        assertEquals("aborted", kafka.records("orders").get(0).transaction());
        GetRecordsQuery committed = new GetRecordsQuery().isolationLevel(GetRecordsQuery.IsolationLevel.READ_COMMITTED);
        assertEquals(List.of(), kafka.records("orders", committed));
    }

    @Test
    void anAuditFindsARecordThatIsLost() throws Exception {
        send("orders", "one coffee", "two teas");
        kafka.admin().truncatePartition("orders", 0, new TruncateBody().offset(1));
        AssertionError error = assertThrows(AssertionError.class, () -> kafka.audit().assertClean());
        assertTrue(error.getMessage().contains("lost_by_truncation orders-0"), error.getMessage());
        kafka.audit().assertClean("lost_by_truncation");
    }

    @Test
    void aSnapshotRestoresRecords(@TempDir Path folder) throws Exception {
        kafka.produce("orders", "one coffee");
        Snapshot snapshot = kafka.snapshot();
        Path file = Files.writeString(folder.resolve("snapshot.json"), snapshot.toString());
        kafka.reset();
        assertEquals(List.of(), kafka.topics());
        kafka.loadSnapshot(snapshot);
        assertEquals(List.of("one coffee"), values(kafka.records("orders")));
        kafka.loadSnapshot(file);
        assertEquals(List.of("one coffee"), values(kafka.records("orders")));
    }

    @Test
    void aRefusalSaysWhatToDo() {
        kafka.createTopic("orders", 1);
        MockKafkaException error = assertThrows(MockKafkaException.class, () -> kafka.records("order"));
        assertEquals(404, error.status());
        assertTrue(error.getMessage().contains("orders"), error.getMessage());
        assertTrue(error.problem().reason().contains("order"));
        MockKafkaException missing = assertThrows(MockKafkaException.class, () -> kafka.admin().removeFault(99));
        assertEquals("list_faults", missing.problem().remedy().operationId());
        assertTrue(missing.getMessage().contains("GET /v1/faults lists them"), missing.getMessage());
        MockKafkaException invalid = assertThrows(MockKafkaException.class, () -> kafka.addFault(Fault.on(Api.FETCH)));
        assertEquals(422, invalid.status());
    }

    @Test
    void waitsSayWhatTheyHaveSeen() {
        Duration soon = Duration.ofMillis(10);
        AssertionError error = assertThrows(AssertionError.class, () -> kafka.waitForRecords("orders", 2, soon));
        assertTrue(error.getMessage().contains("did not exist"), error.getMessage());
        kafka.produce("orders", "one coffee");
        error = assertThrows(AssertionError.class, () -> kafka.waitForRecords("orders", 2, soon));
        assertTrue(error.getMessage().contains("1 of 2 records"), error.getMessage());
        WaitForRequestQuery none = new WaitForRequestQuery().api(Api.PRODUCE);
        error = assertThrows(AssertionError.class, () -> kafka.waitForRequest(none, soon));
        assertTrue(error.getMessage().contains("api='Produce'"), error.getMessage());
        error = assertThrows(AssertionError.class, () -> kafka.waitForStable("billing", 1, soon));
        assertTrue(error.getMessage().contains("billing"), error.getMessage());
    }

    @Test
    void namesMayHaveAnyCharacter() throws Exception {
        kafka.createTopic("a.b_c-d", 1);
        MockKafkaException error = assertThrows(MockKafkaException.class, () -> kafka.lag("a group/of 1 & 2?"));
        assertTrue(error.getMessage().contains("a group/of 1 & 2?"), error.getMessage());
    }
}
