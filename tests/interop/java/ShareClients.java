import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ShareGroupDescription;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** KafkaShareConsumer, all scenarios in one run: what happened goes to standard output. */
public final class ShareClients {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long DEADLINE_NANOS = 30_000_000_000L;
    private static String servers;
    private static String adminUrl;

    private ShareClients() {}

    /** Arguments: bootstrap servers, URL of the admin port, topic (one partition). */
    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        adminUrl = arguments[1];
        String topic = arguments[2];
        try (Admin admin = Admin.create(properties("admin"))) {
            acknowledge(admin, topic);
            divide(admin, topic);
            expireLocks(admin, topic);
            limitDeliveries(admin, topic);
            administer(admin, topic);
        }
    }

    private static Properties properties(String clientId) {
        Properties config = new Properties();
        config.setProperty("bootstrap.servers", servers);
        config.setProperty("client.id", clientId);
        return config;
    }

    private static KafkaShareConsumer<String, String> consumer(String group, int recordsMax) {
        Properties config = properties("consumer");
        config.setProperty("group.id", group);
        config.setProperty("share.acknowledgement.mode", "explicit");
        config.setProperty("max.poll.records", String.valueOf(recordsMax));
        return new KafkaShareConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    private static void startAtBegin(Admin admin, String group) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        ConfigEntry entry = new ConfigEntry("share.auto.offset.reset", "earliest");
        List<AlterConfigOp> operations = List.of(new AlterConfigOp(entry, AlterConfigOp.OpType.SET));
        admin.incrementalAlterConfigs(Map.of(resource, operations)).all().get();
    }

    private static void produce(String topic, int count) throws Exception {
        Properties config = properties("producer");
        config.setProperty("linger.ms", "0");
        config.setProperty("batch.size", "1");
        StringSerializer serializer = new StringSerializer();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(config, serializer, serializer)) {
            for (int number = 0; number < count; number++) {
                producer.send(new ProducerRecord<>(topic, String.valueOf(number))).get();
            }
        }
    }

    private static ConsumerRecords<String, String> poll(KafkaShareConsumer<String, String> consumer) {
        long deadline = System.nanoTime() + DEADLINE_NANOS;
        while (System.nanoTime() < deadline) {
            ConsumerRecords<String, String> records = consumer.poll(POLL);
            if (!records.isEmpty()) {
                return records;
            }
        }
        throw new IllegalStateException("no records");
    }

    private static String describe(Iterable<ConsumerRecord<String, String>> records) {
        List<String> words = new ArrayList<>();
        for (ConsumerRecord<String, String> record : records) {
            words.add(record.value() + ":" + record.deliveryCount().get());
        }
        return String.join(" ", words);
    }

    private static void commit(KafkaShareConsumer<String, String> consumer) {
        for (Map.Entry<TopicIdPartition, Optional<KafkaException>> entry : consumer.commitSync().entrySet()) {
            entry.getValue().ifPresent(error ->
                System.out.println("commit\t" + error.getClass().getSimpleName()));
        }
    }

    /** Accept, release and reject records of one poll. */
    private static void acknowledge(Admin admin, String topic) throws Exception {
        String group = topic + ".acknowledge";
        startAtBegin(admin, group);
        produce(topic, 6);
        try (KafkaShareConsumer<String, String> consumer = consumer(group, 500)) {
            consumer.subscribe(List.of(topic));
            TreeSet<String> seen = new TreeSet<>();
            while (seen.size() < 6) {
                ConsumerRecords<String, String> records = poll(consumer);
                for (ConsumerRecord<String, String> record : records) {
                    seen.add(record.value() + ":" + record.deliveryCount().get());
                    int number = Integer.parseInt(record.value());
                    AcknowledgeType type = number % 3 == 0 ? AcknowledgeType.ACCEPT
                        : number % 3 == 1 ? AcknowledgeType.RELEASE : AcknowledgeType.REJECT;
                    // A released record may be delivered again before all others were.
                    consumer.acknowledge(record, record.deliveryCount().get() > 1 ? AcknowledgeType.ACCEPT : type);
                }
                commit(consumer);
            }
            System.out.println("delivered\t" + String.join(" ", seen));
            if (!seen.contains("1:2")) {
                List<ConsumerRecord<String, String>> again = new ArrayList<>();
                while (again.size() < 2) {
                    for (ConsumerRecord<String, String> record : poll(consumer)) {
                        again.add(record);
                        consumer.acknowledge(record);
                    }
                    commit(consumer);
                }
                System.out.println("released\t" + describe(again));
            }
            ShareGroupDescription description =
                admin.describeShareGroups(List.of(group)).all().get().get(group);
            System.out.println("group\t" + description.groupState() + "\t" + description.members().size()
                + "\t" + description.members().iterator().next().assignment().topicPartitions().size());
        }
    }

    /** Two consumers read one partition at the same time. */
    private static void divide(Admin admin, String topic) throws Exception {
        String group = topic + ".divide";
        startAtBegin(admin, group);
        try (KafkaShareConsumer<String, String> one = consumer(group, 1);
                KafkaShareConsumer<String, String> other = consumer(group, 1)) {
            one.subscribe(List.of(topic));
            other.subscribe(List.of(topic));
            int[] counts = new int[2];
            List<Long> offsets = new ArrayList<>();
            long deadline = System.nanoTime() + DEADLINE_NANOS;
            while (offsets.size() < 6 && System.nanoTime() < deadline) {
                int index = 0;
                for (KafkaShareConsumer<String, String> consumer : List.of(one, other)) {
                    for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                        offsets.add(record.offset());
                        counts[index]++;
                        consumer.acknowledge(record);
                    }
                    commit(consumer);
                    index++;
                }
            }
            System.out.println("divided\t" + new TreeSet<>(offsets) + "\t" + offsets.size()
                + "\t" + (counts[0] > 0 && counts[1] > 0));
        }
    }

    /** A record whose lock expires is delivered to another consumer, and its holder has lost it. */
    private static void expireLocks(Admin admin, String topic) throws Exception {
        String group = topic + ".expire";
        startAtBegin(admin, group);
        try (KafkaShareConsumer<String, String> slow = consumer(group, 500);
                KafkaShareConsumer<String, String> other = consumer(group, 500)) {
            slow.subscribe(List.of(topic));
            List<ConsumerRecord<String, String>> held = new ArrayList<>();
            poll(slow).forEach(held::add);
            other.subscribe(List.of(topic));
            other.poll(POLL);
            advance(30_000);
            List<ConsumerRecord<String, String>> taken = new ArrayList<>();
            poll(other).forEach(taken::add);
            System.out.println("held\t" + describe(held));
            System.out.println("taken\t" + describe(taken));
            held.forEach(slow::acknowledge);
            commit(slow);
            taken.forEach(other::acknowledge);
            commit(other);
        }
    }

    /** A record that is released too often is delivered no more. */
    private static void limitDeliveries(Admin admin, String topic) throws Exception {
        String group = topic + ".limit";
        startAtBegin(admin, group);
        try (KafkaShareConsumer<String, String> consumer = consumer(group, 500)) {
            consumer.subscribe(List.of(topic));
            TreeSet<Integer> counts = new TreeSet<>();
            long deadline = System.nanoTime() + DEADLINE_NANOS;
            int last = 0;
            while (last < 6 && System.nanoTime() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                    counts.add((int) record.deliveryCount().get());
                    consumer.acknowledge(record, AcknowledgeType.RELEASE);
                    if (record.deliveryCount().get() == 5) {
                        last++;
                    }
                }
                commit(consumer);
            }
            boolean isEmpty = consumer.poll(Duration.ofMillis(300)).isEmpty();
            System.out.println("limited\t" + counts + "\t" + isEmpty);
        }
    }

    /** Offsets and groups as kafka-share-groups.sh handles them; the group has no members. */
    private static void administer(Admin admin, String topic) throws Exception {
        String group = topic + ".limit";
        TopicPartition partition = new TopicPartition(topic, 0);
        System.out.println("groups\t" + new TreeSet<>(admin
            .listGroups(ListGroupsOptions.forShareGroups()).all().get().stream()
            .map(listing -> listing.groupId() + ":" + listing.type() + ":" + listing.groupState().get()).toList()));
        System.out.println("offset\t" + startOffset(admin, group, partition));
        admin.alterShareGroupOffsets(group, Map.of(partition, 2L)).all().get();
        System.out.println("altered\t" + startOffset(admin, group, partition));
        admin.deleteShareGroupOffsets(group, Set.of(topic)).all().get();
        System.out.println("deleted\t" + startOffset(admin, group, partition));
        admin.deleteShareGroups(List.of(group)).all().get();
        System.out.println("left\t" + admin.listGroups(ListGroupsOptions.forShareGroups()).all().get().stream()
            .anyMatch(listing -> listing.groupId().equals(group)));
    }

    /** The class of the offset has another name since Kafka 4.2; both print it alike. */
    private static String startOffset(Admin admin, String group, TopicPartition partition) throws Exception {
        ListShareGroupOffsetsSpec spec = new ListShareGroupOffsetsSpec().topicPartitions(List.of(partition));
        Object found = admin.listShareGroupOffsets(Map.of(group, spec)).all().get().get(group).get(partition);
        Matcher offset = Pattern.compile("(?i)\\b(start)?offset=(\\d+)").matcher(String.valueOf(found));
        return offset.find() ? offset.group(2) : "null";
    }

    private static void advance(long milliseconds) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(adminUrl + "/v1/clock/advance"))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString("{\"ms\": " + milliseconds + "}"))
            .build();
        HttpResponse<String> response =
            HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            throw new IllegalStateException(response.body());
        }
    }
}
