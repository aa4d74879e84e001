import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads partition 0 of a topic: SERVERS TOPIC COUNT START_OFFSET. Prints what it read after the first tenth:
 * records, bytes of keys and values, seconds, seconds of CPU; and the first and the last offset of all.
 */
public final class Measure {
    private static final double NANOS = 1e9;

    public static void main(String[] arguments) {
        int count = Integer.parseInt(arguments[2]);
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("enable.auto.commit", "false");
        TopicPartition partition = new TopicPartition(arguments[1], 0);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, Long.parseLong(arguments[3]));
            long began = 0, beganCpu = 0, bytes = 0, first = -1, last = -1;
            int read = 0, warm = 0;
            while (read < count) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    bytes += (record.key() == null ? 0 : record.key().length) + record.value().length;
                    first = first < 0 ? record.offset() : first;
                    last = record.offset();
                    read++;
                }
                if (warm == 0 && read * 10L >= count) {
                    began = System.nanoTime();
                    beganCpu = cpuNanos();
                    warm = read;
                    bytes = 0;
                }
            }
            double seconds = (System.nanoTime() - began) / NANOS;
            double cpu = (cpuNanos() - beganCpu) / NANOS;
            System.out.printf("%d\t%d\t%f\t%f\t%d\t%d%n", read - warm, bytes, seconds, cpu, first, last);
        }
    }

    private static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }
}
