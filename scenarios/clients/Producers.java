import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Several producers of the Java client in one process. Commands come on standard input, responses
 * go to standard output. Fields are separated by tabs; the other side chooses the IDs.
 *
 *   start -                             -> started -
 *   open ID KEY=VALUE...                -> opened ID
 *   send ID INDEX TOPIC PARTITION VALUE -> sent ID INDEX (send() has returned) and, before or after
 *                                          it, one of: stored ID INDEX OFFSET,
 *                                          failed ID INDEX ERROR MESSAGE
 *   watch ID                            -> watching ID, and from then on
 *                                          in flight ID COUNT whenever the metric has changed
 *   close ID                            -> closed ID
 *
 * PARTITION is - when the client shall choose. Each producer has a thread, because send()
 * blocks while a topic is unknown.
 */
public class Producers {
    private static final int SAMPLE_MS = 2;

    private static final class Client {
        final ExecutorService thread = Executors.newSingleThreadExecutor();
        volatile KafkaProducer<byte[], byte[]> producer;
        volatile boolean isClosed;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Client> clients = new HashMap<>();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.split("\t");
            String id = words[1];
            if (words[0].equals("start")) {
                print("started", id);
                continue;
            }
            Client client = clients.computeIfAbsent(id, ignored -> new Client());
            switch (words[0]) {
                case "open":
                    client.thread.execute(() -> open(client, words));
                    break;
                case "send":
                    client.thread.execute(() -> send(client.producer, words));
                    break;
                case "watch":
                    print("watching", id);
                    Thread watcher = new Thread(() -> watch(client, id));
                    watcher.setDaemon(true);
                    watcher.start();
                    break;
                case "close":
                    clients.remove(id);
                    // Not in its own thread, which may be blocked in send().
                    new Thread(() -> {
                        client.isClosed = true;
                        client.producer.close(Duration.ZERO);
                        client.thread.shutdownNow();
                        print("closed", id);
                    }).start();
                    break;
                default:
                    throw new IllegalArgumentException(line);
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static void open(Client client, String[] words) {
        Map<String, Object> settings = new HashMap<>();
        for (int index = 2; index < words.length; index++) {
            String[] pair = words[index].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        ByteArraySerializer serializer = new ByteArraySerializer();
        client.producer = new KafkaProducer<>(settings, serializer, serializer);
        print("opened", words[1]);
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, String[] words) {
        String id = words[1], index = words[2], topic = words[3];
        Integer partition = words[4].equals("-") ? null : Integer.valueOf(words[4]);
        try {
            producer.send(
                new ProducerRecord<>(topic, partition, null, words[5].getBytes()),
                (metadata, error) -> {
                    if (error == null) {
                        print("stored", id, index, String.valueOf(metadata.offset()));
                    } else {
                        fail(id, index, error);
                    }
                });
        } catch (Exception error) {
            fail(id, index, error);
        }
        print("sent", id, index);
    }

    private static void fail(String id, String index, Exception error) {
        String message = String.valueOf(error.getMessage()).replaceAll("\\s+", " ");
        print("failed", id, index, error.getClass().getSimpleName(), message);
    }

    private static void watch(Client client, String id) {
        Metric metric = client.producer.metrics().values().stream()
            .filter(candidate -> candidate.metricName().name().equals("requests-in-flight"))
            .findFirst().orElseThrow();
        int before = 0;
        try {
            while (!client.isClosed) {
                int now = ((Number) metric.metricValue()).intValue();
                if (now != before) {
                    print("in flight", id, String.valueOf(now));
                    before = now;
                }
                Thread.sleep(SAMPLE_MS);
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private static void print(String... words) {
        synchronized (System.out) {
            System.out.println(String.join("\t", words));
            System.out.flush();
        }
    }
}
