import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The work of benchmarks/client_work.py, with the defaults of the Java client. Arguments: SERVERS TOPIC COUNT. */
public final class Work {
    private static final int RECORDS_PER_S = 200;
    private static final String VALUE = "v".repeat(100);

    private Work() {}

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        String topic = arguments[1];
        int count = Integer.parseInt(arguments[2]);
        Thread reader = new Thread(() -> read(servers, topic, count));
        reader.start();
        try (KafkaProducer<String, String> producer = producer(Map.of("bootstrap.servers", servers))) {
            long start = System.nanoTime();
            for (int number = 0; number < count; number++) {
                long due = start + Math.max(0, number - count / 2) * 1_000_000_000L / RECORDS_PER_S;
                TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
                producer.send(new ProducerRecord<>(topic, VALUE));
            }
        }
        reader.join();
        Map<String, Object> config = Map.of("bootstrap.servers", servers, "transactional.id", topic);
        try (KafkaProducer<String, String> producer = producer(config)) {
            producer.initTransactions();
            for (int transaction = 0; transaction < 2; transaction++) {
                producer.beginTransaction();
                for (int number = 0; number < 10; number++) {
                    producer.send(new ProducerRecord<>(topic, VALUE));
                }
                producer.commitTransaction();
            }
        }
    }

    private static void read(String servers, String topic, int count) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", servers);
        config.put("group.id", topic);
        config.put("auto.offset.reset", "earliest");
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            for (int left = count; left > 0; ) {
                left -= consumer.poll(Duration.ofMillis(100)).count();
            }
        }
    }

    private static KafkaProducer<String, String> producer(Map<String, Object> config) {
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }
}
