import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes numbers until standard input ends; tells what happens, a line each. */
public final class Writer {
    private Writer() {}

    /** Arguments: bootstrap servers, topic (and client id), records in a burst, ms between bursts. */
    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        int burst = Integer.parseInt(arguments[2]);
        long interval = Long.parseLong(arguments[3]);
        Properties config = new Properties();
        config.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        config.put(ProducerConfig.CLIENT_ID_CONFIG, topic);
        config.put(ProducerConfig.BATCH_SIZE_CONFIG, 0);
        config.put(ProducerConfig.LINGER_MS_CONFIG, 0);
        config.put(ProducerConfig.RETRY_BACKOFF_MS_CONFIG, 50);
        config.put(ProducerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, 200);
        ByteArraySerializer serializer = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config, serializer, serializer)) {
            Thread sampler = new Thread(() -> sample(producer));
            sampler.setDaemon(true);
            sampler.start();
            for (int number = 0; System.in.available() == 0; Thread.sleep(interval)) {
                for (int sent = 0; sent < burst; sent++, number++) {
                    send(producer, topic, number);
                }
            }
        }
        System.exit(0);
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, String topic, int number) {
        // So long that no second record fits into the batch.
        byte[] value = String.format("%0100d", number).getBytes(StandardCharsets.US_ASCII);
        tell("sent", number);
        producer.send(new ProducerRecord<>(topic, 0, null, value), (stored, error) ->
                tell(error == null ? "acknowledged" : "failed", number));
    }

    private static void sample(KafkaProducer<byte[], byte[]> producer) {
        Metric metric = producer.metrics().values().stream()
                .filter(each -> each.metricName().name().equals("requests-in-flight"))
                .findFirst().orElseThrow();
        int before = 0;
        try {
            while (true) {
                int now = ((Number) metric.metricValue()).intValue();
                if (now != before) {
                    tell("flying", now);
                    before = now;
                }
                Thread.sleep(2);
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private static synchronized void tell(String what, int number) {
        System.out.println(what + " " + number);
        System.out.flush();
    }
}
