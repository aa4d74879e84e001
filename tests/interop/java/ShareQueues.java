import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** What share groups can since Kafka 4.2: what happened goes to standard output. */
public final class ShareQueues {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long DEADLINE_NANOS = 60_000_000_000L;
    private static String servers;

    private ShareQueues() {}

    /** Arguments: bootstrap servers, topic (one partition), topic of dead letters (one partition). */
    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        String topic = arguments[1];
        try (Admin admin = Admin.create(properties("admin"))) {
            produce(topic, 10);
            limitRecords(admin, topic);
            renewLocks(admin, topic);
            readDeadLetters(admin, topic, arguments[2]);
        }
    }

    private static Properties properties(String clientId) {
        Properties config = new Properties();
        config.setProperty("bootstrap.servers", servers);
        config.setProperty("client.id", clientId);
        return config;
    }

    private static KafkaShareConsumer<String, String> consumer(String group, String mode, int recordsMax) {
        Properties config = properties("consumer");
        config.setProperty("group.id", group);
        config.setProperty("share.acknowledgement.mode", "explicit");
        config.setProperty("share.acquire.mode", mode);
        config.setProperty("max.poll.records", String.valueOf(recordsMax));
        return new KafkaShareConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    private static void configure(Admin admin, String group, Map<String, String> values) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        Collection<AlterConfigOp> operations = new ArrayList<>();
        operations.add(new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET));
        values.forEach((name, value) ->
            operations.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
        admin.incrementalAlterConfigs(Map.of(resource, operations)).all().get();
    }

    private static void produce(String topic, int count) throws Exception {
        Properties config = properties("producer");
        config.setProperty("linger.ms", "200");
        StringSerializer serializer = new StringSerializer();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(config, serializer, serializer)) {
            for (int number = 0; number < count; number++) {
                producer.send(new ProducerRecord<>(topic, "key", String.valueOf(number)));
            }
        }
    }

    private static List<ConsumerRecord<String, String>> poll(KafkaShareConsumer<String, String> consumer) {
        long deadline = System.nanoTime() + DEADLINE_NANOS;
        while (System.nanoTime() < deadline) {
            ConsumerRecords<String, String> records = consumer.poll(POLL);
            if (!records.isEmpty()) {
                List<ConsumerRecord<String, String>> found = new ArrayList<>();
                records.forEach(found::add);
                return found;
            }
        }
        throw new IllegalStateException("no records");
    }

    private static List<String> values(List<ConsumerRecord<String, String>> records) {
        return records.stream().map(ConsumerRecord::value).toList();
    }

    /** All records are in one batch; two consumers with a record limit get two each. */
    private static void limitRecords(Admin admin, String topic) throws Exception {
        String group = topic + ".limit";
        configure(admin, group, Map.of());
        try (KafkaShareConsumer<String, String> one = consumer(group, "record_limit", 2);
                KafkaShareConsumer<String, String> other = consumer(group, "record_limit", 2)) {
            one.subscribe(List.of(topic));
            List<ConsumerRecord<String, String>> first = poll(one);
            other.subscribe(List.of(topic));
            List<ConsumerRecord<String, String>> second = poll(other);
            System.out.println("limited\t" + first.size() + "\t" + second.size() + "\t"
                + Collections.disjoint(values(first), values(second)));
            first.forEach(one::acknowledge);
            one.commitSync();
            second.forEach(other::acknowledge);
            other.commitSync();
        }
        TopicPartition partition = new TopicPartition(topic, 0);
        ListShareGroupOffsetsSpec spec = new ListShareGroupOffsetsSpec().topicPartitions(List.of(partition));
        var found = admin.listShareGroupOffsets(Map.of(group, spec)).partitionsToOffsetInfo(group).get().get(partition);
        System.out.println("lag\t" + found.startOffset() + "\t" + found.lag().get());
    }

    /** A lock lasts a second. The holder renews it for three, and another consumer gets nothing. */
    private static void renewLocks(Admin admin, String topic) throws Exception {
        String group = topic + ".renew";
        configure(admin, group, Map.of("share.record.lock.duration.ms", "1000"));
        try (KafkaShareConsumer<String, String> slow = consumer(group, "batch_optimized", 500);
                KafkaShareConsumer<String, String> other = consumer(group, "batch_optimized", 500)) {
            slow.subscribe(List.of(topic));
            List<ConsumerRecord<String, String>> held = poll(slow);
            other.subscribe(List.of(topic));
            int stolen = 0;
            long end = System.nanoTime() + 3_000_000_000L;
            while (System.nanoTime() < end) {
                held.forEach(record -> slow.acknowledge(record, AcknowledgeType.RENEW));
                slow.commitSync();
                slow.poll(POLL);
                stolen += other.poll(POLL).count();
            }
            held.forEach(slow::acknowledge);
            long refused = slow.commitSync().values().stream().filter(error -> error.isPresent()).count();
            System.out.println("renewed\t" + held.size() + "\t" + stolen + "\t" + refused);
        }
    }

    /** The first record is rejected, the others are released until they had all deliveries. */
    private static void readDeadLetters(Admin admin, String topic, String queue) throws Exception {
        String group = topic + ".queue";
        configure(admin, group, Map.of(
            "errors.deadletterqueue.topic.name", queue,
            "errors.deadletterqueue.copy.record.enable", "true",
            "share.delivery.count.limit", "2"));
        try (KafkaShareConsumer<String, String> consumer = consumer(group, "batch_optimized", 500);
                KafkaConsumer<String, String> reader = new KafkaConsumer<>(
                    readerProperties(), new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            reader.assign(List.of(new TopicPartition(queue, 0)));
            reader.seekToBeginning(List.of(new TopicPartition(queue, 0)));
            TreeMap<Integer, String> dead = new TreeMap<>();
            TreeSet<String> names = new TreeSet<>();
            long deadline = System.nanoTime() + DEADLINE_NANOS;
            while (dead.size() < 10 && System.nanoTime() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                    boolean isFirst = record.value().equals("0");
                    consumer.acknowledge(record, isFirst ? AcknowledgeType.REJECT : AcknowledgeType.RELEASE);
                }
                consumer.commitSync();
                for (ConsumerRecord<String, String> record : reader.poll(POLL)) {
                    Map<String, String> headers = new TreeMap<>();
                    for (Header header : record.headers()) {
                        headers.put(header.key().replace("__dlq.errors.", ""), new String(header.value()));
                    }
                    names.addAll(headers.keySet());
                    dead.put(Integer.parseInt(headers.get("offset")), record.key() + record.value()
                        + ":" + headers.get("delivery.count") + ":" + headers.get("message"));
                }
            }
            System.out.println("headers\t" + names);
            System.out.println("dead\t" + dead.get(0) + "\t" + new TreeSet<>(
                dead.tailMap(1).values().stream().map(text -> text.substring(text.indexOf(':'))).toList())
                + "\t" + dead.keySet());
        }
    }

    private static Properties readerProperties() {
        Properties config = properties("reader");
        config.setProperty(ConsumerConfig.GROUP_ID_CONFIG, "reader");
        return config;
    }
}
