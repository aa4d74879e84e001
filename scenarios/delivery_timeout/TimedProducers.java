import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Several producers of the Java client in one process, commanded on standard input and reported on
 * standard output. Fields are separated by tabs; IDs are chosen by the other side.
 *
 *   start -                   -> started -
 *   open ID KEY=VALUE...      -> opened ID
 *   send ID INDEX TOPIC VALUE -> sent ID INDEX (send() has returned) and, before or after it,
 *                                heard ID INDEX [ERROR MESSAGE]
 *   close ID                  -> closed ID
 *
 * A producer has a thread of its own, because send() blocks while a topic is unknown.
 */
public class TimedProducers {
    private static final class Subject {
        final ExecutorService thread = Executors.newSingleThreadExecutor();
        KafkaProducer<byte[], byte[]> producer;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Subject> subjects = new HashMap<>();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.split("\t");
            String id = words[1];
            if (words[0].equals("start")) {
                say("started", id);
                continue;
            }
            Subject subject = subjects.computeIfAbsent(id, ignored -> new Subject());
            switch (words[0]) {
                case "open":
                    subject.thread.execute(() -> open(subject, words));
                    break;
                case "send":
                    subject.thread.execute(() -> send(subject.producer, words));
                    break;
                case "close":
                    subjects.remove(id);
                    // Not in its own thread, which may be blocked in send().
                    new Thread(() -> {
                        subject.producer.close(Duration.ZERO);
                        subject.thread.shutdownNow();
                        say("closed", id);
                    }).start();
                    break;
                default:
                    throw new IllegalArgumentException(line);
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static void open(Subject subject, String[] words) {
        Map<String, Object> settings = new HashMap<>();
        for (int index = 2; index < words.length; index++) {
            String[] pair = words[index].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        ByteArraySerializer serializer = new ByteArraySerializer();
        subject.producer = new KafkaProducer<>(settings, serializer, serializer);
        say("opened", words[1]);
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, String[] words) {
        String id = words[1], index = words[2], topic = words[3];
        try {
            producer.send(
                new ProducerRecord<>(topic, words[4].getBytes()),
                (metadata, error) -> tell(id, index, error));
        } catch (Exception error) {
            tell(id, index, error);
        }
        say("sent", id, index);
    }

    private static void tell(String id, String index, Exception error) {
        if (error == null) {
            say("heard", id, index);
        } else {
            String message = String.valueOf(error.getMessage()).replaceAll("\\s+", " ");
            say("heard", id, index, error.getClass().getSimpleName(), message);
        }
    }

    private static void say(String... words) {
        synchronized (System.out) {
            System.out.println(String.join("\t", words));
            System.out.flush();
        }
    }
}
