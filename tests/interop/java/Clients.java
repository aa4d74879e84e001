import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ThrottlingQuotaExceededException;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The plain Java clients, a scenario a run: what happened goes to standard output, tab between words. */
public final class Clients {
    private static final Duration POLL = Duration.ofMillis(50);
    private static final long DEADLINE_NANOS = 30_000_000_000L;

    private Clients() {}

    /** Arguments: the scenario, the topic, a count; then what configures the client, KEY=VALUE each. */
    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        int count = Integer.parseInt(arguments[2]);
        Properties config = new Properties();
        for (String argument : Arrays.asList(arguments).subList(3, arguments.length)) {
            String[] parts = argument.split("=", 2);
            config.setProperty(parts[0], parts[1]);
        }
        switch (arguments[0]) {
            case "produce" -> produce(config, topic, count);
            case "outcomes" -> outcomes(config, topic, count);
            case "consume" -> consume(config, topic, count);
            case "share" -> share(config, topic, count);
            case "administer" -> administer(config, topic);
            case "create" -> create(config, topic, count);
            case "move" -> move(config, topic, count);
            case "transact" -> transact(config, topic, count);
            case "expire" -> expire(config, topic, count);
            case "copy" -> copy(config, topic, count);
            case "soak" -> soak(config, topic, count);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    /** Send `count` numbers, spread over the partitions; print where each went. */
    private static void produce(Properties config, String topic, int count) throws Exception {
        try (KafkaProducer<String, String> producer = producer(config)) {
            int partitions = producer.partitionsFor(topic).size();
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int number = 0; number < count; number++) {
                sent.add(producer.send(numbered(topic, number % partitions, number)));
            }
            for (int number = 0; number < count; number++) {
                RecordMetadata stored = sent.get(number).get();
                print("sent", number, stored.partition(), stored.offset());
            }
            producer.metrics().forEach((name, metric) -> {
                if (name.name().equals("produce-throttle-time-max")) {
                    print("throttled", metric.metricValue());
                }
            });
        }
    }

    /** Send `count` numbers to one partition; print the offset of each, or the error it ended in. */
    private static void outcomes(Properties config, String topic, int count) throws Exception {
        try (KafkaProducer<String, String> producer = producer(config)) {
            producer.partitionsFor(topic);
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int number = 0; number < count; number++) {
                sent.add(producer.send(numbered(topic, 0, number)));
            }
            for (int number = 0; number < count; number++) {
                print("outcome", number, outcome(sent.get(number)));
            }
        }
    }

    private static String outcome(Future<RecordMetadata> sent) throws InterruptedException {
        try {
            return "" + sent.get().offset();
        } catch (ExecutionException error) {
            return error.getCause().getClass().getSimpleName();
        }
    }

    /** Read `count` records as a member of a group and commit. */
    private static void consume(Properties config, String topic, int count) {
        try (KafkaConsumer<String, String> consumer = consumer(config)) {
            consumer.subscribe(List.of(topic));
            long deadline = System.nanoTime() + DEADLINE_NANOS;
            for (int read = 0; read < count && System.nanoTime() < deadline; ) {
                for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                    printRecord(record);
                    read++;
                }
            }
            consumer.commitSync();
        }
    }

    /** Copy `count` records to another topic, in transactions with their offsets; abort every third one. */
    private static void copy(Properties config, String topic, int count) {
        Properties reading = new Properties();
        reading.putAll(config);
        reading.remove("transactional.id");
        reading.setProperty("isolation.level", "read_committed");
        reading.setProperty("enable.auto.commit", "false");
        reading.setProperty("max.poll.records", "10");
        try (KafkaProducer<String, String> producer = producer(config);
                KafkaConsumer<String, String> consumer = consumer(reading)) {
            producer.initTransactions();
            consumer.subscribe(List.of(topic));
            for (int copied = 0, round = 1; copied < count; ) {
                ConsumerRecords<String, String> records = consumer.poll(POLL);
                if (records.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>(topic + "-copy", record.value()));
                    offsets.put(
                            new TopicPartition(topic, record.partition()),
                            new OffsetAndMetadata(record.offset() + 1));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.flush();
                boolean isCommitted = round++ % 3 != 0;
                if (isCommitted) {
                    producer.commitTransaction();
                    copied += records.count();
                } else {
                    producer.abortTransaction();
                    records.partitions().forEach(
                            partition -> consumer.seek(partition, records.records(partition).get(0).offset()));
                }
                print("end", isCommitted);
            }
        }
    }

    /** Two members of one group read `count` records; then one leaves, and the other has it all. */
    private static void share(Properties config, String topic, int count) {
        try (KafkaConsumer<String, String> stays = consumer(config)) {
            stays.subscribe(List.of(topic));
            try (KafkaConsumer<String, String> leaves = consumer(config)) {
                leaves.subscribe(List.of(topic));
                Set<String> values = new HashSet<>();
                long deadline = System.nanoTime() + DEADLINE_NANOS;
                while (System.nanoTime() < deadline
                        && (values.size() < count
                                || stays.assignment().isEmpty() || leaves.assignment().isEmpty())) {
                    stays.poll(POLL).forEach(record -> values.add(record.value()));
                    leaves.poll(POLL).forEach(record -> values.add(record.value()));
                }
                print("read", values.size());
                print("shared", stays.assignment().size(), leaves.assignment().size());
            }
            long deadline = System.nanoTime() + DEADLINE_NANOS;
            while (System.nanoTime() < deadline && stays.assignment().size() < 4) {
                stays.poll(POLL);
            }
            print("alone", stays.assignment().size());
        }
    }

    /** What an operator does in the life of a topic. */
    private static void administer(Properties config, String topic) throws Exception {
        TopicPartition first = new TopicPartition(topic, 0);
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        try (Admin admin = Admin.create(config)) {
            print("brokers", admin.describeCluster().nodes().get().size());
            print("features", admin.describeFeatures().featureMetadata().get().finalizedFeatures().size());
            admin.createTopics(List.of(new NewTopic(topic, 2, (short) 2))).all().get();
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
            print("listed", admin.listTopics().names().get().contains(topic));
            print("partitions", admin.describeTopics(List.of(topic)).allTopicNames().get()
                    .get(topic).partitions().size());
            admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(
                    new ConfigEntry("retention.ms", "12345"), AlterConfigOp.OpType.SET)))).all().get();
            print("retention", admin.describeConfigs(List.of(resource)).all().get()
                    .get(resource).get("retention.ms").value());
            administerRecords(admin, config, first);
            administerGroup(admin, first);
            admin.alterPartitionReassignments(Map.of(first,
                    Optional.of(new NewPartitionReassignment(List.of(3, 1))))).all().get();
            print("reassigning", admin.listPartitionReassignments().reassignments().get().size());
            admin.electLeaders(ElectionType.PREFERRED, Set.of(first)).partitions().get();
            print("leader", admin.describeTopics(List.of(topic)).allTopicNames().get()
                    .get(topic).partitions().get(0).leader().id());
            print("log dirs", admin.describeLogDirs(List.of(1, 2, 3)).allDescriptions().get().size());
            administerQuota(admin);
            admin.deleteTopics(List.of(topic)).all().get();
            print("listed", admin.listTopics().names().get().contains(topic));
        }
    }

    private static void administerRecords(Admin admin, Properties config, TopicPartition partition)
            throws Exception {
        try (KafkaProducer<String, String> producer = producer(config)) {
            for (int number = 0; number < 5; number++) {
                producer.send(numbered(partition.topic(), partition.partition(), number)).get();
            }
        }
        print("producer", admin.describeProducers(List.of(partition)).all().get()
                .get(partition).activeProducers().get(0).lastSequence());
        admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(2))).all().get();
        for (OffsetSpec spec : List.of(OffsetSpec.earliest(), OffsetSpec.latest(),
                OffsetSpec.forTimestamp(1004), OffsetSpec.maxTimestamp())) {
            print("offset", admin.listOffsets(Map.of(partition, spec)).all().get()
                    .get(partition).offset());
        }
    }

    private static void administerGroup(Admin admin, TopicPartition partition) throws Exception {
        String group = partition.topic() + ".group";
        admin.alterConsumerGroupOffsets(group, Map.of(partition, new OffsetAndMetadata(3)))
                .all().get();
        print("committed", admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get()
                .get(partition).offset());
        print("group", admin.describeConsumerGroups(List.of(group)).all().get().get(group).members().size());
        print("groups", admin.listConsumerGroups().all().get().stream()
                .anyMatch(listing -> listing.groupId().equals(group)));
        admin.deleteConsumerGroupOffsets(group, Set.of(partition)).all().get();
        admin.deleteConsumerGroups(List.of(group)).all().get();
    }

    private static void administerQuota(Admin admin) throws Exception {
        ClientQuotaEntity entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "somebody"));
        for (Double rate : Arrays.asList(1024.0, null)) {
            admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity,
                    List.of(new ClientQuotaAlteration.Op("producer_byte_rate", rate))))).all().get();
            print("quota", admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get()
                    .get(entity));
        }
    }

    /** Create `count` topics one by one: first as the client likes it, then without its own retries. */
    private static void create(Properties config, String topic, int count) throws Exception {
        try (Admin admin = Admin.create(config)) {
            long start = System.nanoTime();
            for (int number = 0; number < count; number++) {
                admin.createTopics(List.of(new NewTopic(topic + "." + number, 1, (short) 1))).all().get();
                print("created", number);
            }
            print("took", (System.nanoTime() - start) / 1_000_000);
            CreateTopicsOptions options = new CreateTopicsOptions().retryOnQuotaViolation(false);
            for (int number = 0; number < count; number++) {
                NewTopic more = new NewTopic(topic + ".more." + number, 1, (short) 1);
                try {
                    admin.createTopics(List.of(more), options).all().get();
                    print("created", number);
                } catch (ExecutionException error) {
                    print("refused", ((ThrottlingQuotaExceededException) error.getCause()).throttleTimeMs());
                    return;
                }
            }
        }
    }

    /** Records expire while too few replicas are in sync; with enough of them the producer goes on. */
    private static void expire(Properties config, String topic, int count) throws Exception {
        try (Admin admin = Admin.create(config); KafkaProducer<String, String> producer = producer(config)) {
            for (int minimum : List.of(1, 2, 1)) {
                ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
                admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(
                        new ConfigEntry("min.insync.replicas", "" + minimum),
                        AlterConfigOp.OpType.SET)))).all().get();
                List<Future<RecordMetadata>> sent = new ArrayList<>();
                for (int number = 0; number < count; number++) {
                    sent.add(producer.send(numbered(topic, 0, number)));
                }
                Set<String> results = new TreeSet<>();
                for (Future<RecordMetadata> future : sent) {
                    results.add(outcome(future));
                }
                print("results", String.join(",", results));
            }
        }
    }

    /** The leader goes round the brokers between sends of a number and reads of a reader without group. */
    private static void move(Properties config, String topic, int count) throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Admin admin = Admin.create(config);
                KafkaProducer<String, String> producer = producer(config);
                KafkaConsumer<String, String> consumer = consumer(config)) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long deadline = System.nanoTime() + DEADLINE_NANOS;
            for (int number = 0; number < count; number++) {
                Future<RecordMetadata> sent = producer.send(numbered(topic, 0, number));
                List<Integer> replicas = List.of(number % 3 + 1, (number + 1) % 3 + 1);
                admin.alterPartitionReassignments(Map.of(partition,
                        Optional.of(new NewPartitionReassignment(replicas)))).all().get();
                admin.electLeaders(ElectionType.PREFERRED, Set.of(partition)).partitions().get();
                sent.get();
                for (boolean isRead = false; !isRead && System.nanoTime() < deadline; ) {
                    for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                        printRecord(record);
                        isRead = true;
                    }
                }
            }
        }
    }

    /**
     * Write `count` numbers in one transaction and others in one that is aborted; copy the numbers to
     * the topic `.out`, each five in a transaction with their offsets, every second one aborted first.
     * Print what read_committed consumers see there, the offsets, and how a second instance ends the first.
     */
    private static void transact(Properties config, String topic, int count) throws Exception {
        Properties transactional = with(config, "transactional.id", topic);
        Properties committed = with(config, "isolation.level", "read_committed");
        committed.setProperty("group.id", topic + ".group");
        committed.setProperty("auto.offset.reset", "earliest");
        committed.setProperty("enable.auto.commit", "false");
        committed.setProperty("max.poll.records", "5");
        try (KafkaProducer<String, String> producer = producer(transactional)) {
            producer.initTransactions();
            producer.beginTransaction();
            for (int number = 0; number < count; number++) {
                producer.send(numbered(topic, number % 2, number));
            }
            producer.commitTransaction();
            producer.beginTransaction();
            producer.send(numbered(topic, 0, count)).get();
            producer.abortTransaction();
            copy(producer, committed, topic, count);
            producer.beginTransaction();
            producer.send(numbered(topic + ".out", 0, 1000)).get();
            try (KafkaProducer<String, String> second = producer(transactional)) {
                second.initTransactions();
                try {
                    producer.commitTransaction();
                    print("fenced", "not");
                } catch (org.apache.kafka.common.KafkaException error) {
                    print("fenced", error.getClass().getSimpleName());
                }
            }
        }
        committed.setProperty("group.id", topic + ".reader");
        try (KafkaConsumer<String, String> consumer = consumer(committed)) {
            consumer.subscribe(List.of(topic + ".out"));
            long deadline = System.nanoTime() + DEADLINE_NANOS;
            for (int found = 0; found < count && System.nanoTime() < deadline; ) {
                for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                    print("out", record.value());
                    found++;
                }
            }
            for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                print("out", record.value());
            }
        }
    }

    private static void copy(
            KafkaProducer<String, String> producer, Properties config, String topic, int count) {
        try (KafkaConsumer<String, String> consumer = consumer(config)) {
            consumer.subscribe(List.of(topic));
            long deadline = System.nanoTime() + DEADLINE_NANOS;
            boolean aborts = true;
            for (int done = 0; done < count && System.nanoTime() < deadline; ) {
                var records = consumer.poll(POLL);
                if (records.isEmpty()) {
                    continue;
                }
                Map<TopicPartition, OffsetAndMetadata> offsets = new java.util.HashMap<>();
                producer.beginTransaction();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>(topic + ".out", 0, null, record.value()));
                    offsets.put(
                            new TopicPartition(topic, record.partition()),
                            new OffsetAndMetadata(record.offset() + 1));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                if (aborts) {
                    producer.abortTransaction();
                    records.partitions().forEach(partition ->
                            consumer.seek(partition, records.records(partition).get(0).offset()));
                } else {
                    producer.commitTransaction();
                    done += records.count();
                }
                aborts = !aborts;
            }
            Set<TopicPartition> partitions = consumer.assignment();
            consumer.committed(partitions).forEach((partition, offset) ->
                    print("committed", partition.partition(), offset.offset()));
        }
    }

    private static Properties with(Properties config, String key, String value) {
        Properties copy = new Properties();
        copy.putAll(config);
        copy.setProperty(key, value);
        return copy;
    }

    private static ProducerRecord<String, String> numbered(String topic, int partition, int number) {
        ProducerRecord<String, String> record =
                new ProducerRecord<>(topic, partition, 1000L + number, "key", "" + number);
        record.headers().add("number", ("" + number).getBytes(StandardCharsets.UTF_8));
        return record;
    }

    /**
     * Send `rate` numbers a second and read them as a member of a group, and print both. The line `stop` on
     * standard input ends sending, the end of standard input everything.
     */
    private static void soak(Properties config, String topic, int rate) {
        Set<String> lines = ConcurrentHashMap.newKeySet();
        Thread input = new Thread(() -> {
            new BufferedReader(new InputStreamReader(System.in)).lines().forEach(lines::add);
            lines.add("end");
        });
        input.setDaemon(true);
        input.start();
        try (KafkaProducer<String, String> producer = producer(config);
                KafkaConsumer<String, String> consumer = consumer(config)) {
            consumer.subscribe(List.of(topic));
            long start = System.nanoTime();
            boolean isStopped = false;
            for (int number = 0; !lines.contains("end"); ) {
                double due = lines.contains("stop") ? 0 : (System.nanoTime() - start) / 1e9 * rate;
                for (; number < due; number++) {
                    int sent = number;
                    producer.send(new ProducerRecord<>(topic, sent % 3, null, "" + sent), (stored, error) -> {
                        if (error == null) {
                            print("acked", sent);
                        } else {
                            print("failed", sent, error.getClass().getSimpleName());
                        }
                    });
                }
                if (lines.contains("stop") && !isStopped) {
                    producer.flush();
                    print("stopped");
                    isStopped = true;
                }
                consumer.poll(POLL).forEach(record -> print("read", record.value()));
                consumer.commitAsync();
            }
        }
    }

    private static KafkaProducer<String, String> producer(Properties config) {
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    private static KafkaConsumer<String, String> consumer(Properties config) {
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    private static void printRecord(ConsumerRecord<String, String> record) {
        String header = new String(record.headers().lastHeader("number").value(), StandardCharsets.UTF_8);
        print("read", record.partition(), record.offset(), record.timestamp(), record.key(),
                record.value(), header);
    }

    private static void print(Object... words) {
        System.out.println(String.join("\t", Arrays.stream(words).map(String::valueOf).toList()));
    }
}
