import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs the main methods of Kafka's command line tools one after another in one process.
 *
 * A line of standard input is: time limit in ms, main class, standard input in base64, arguments,
 * with tabs in between. The result is one line: exit status, output and error output in base64.
 */
public final class Tools {
    private static final class Ended extends Error {
        Ended() {
            super(null, null, false, false);
        }
    }

    private static final Queue<Runnable> HOOKS = new ConcurrentLinkedQueue<>();
    private static final AtomicReference<Integer> STATUS = new AtomicReference<>();

    /** Some tools catch what ends them; what they do after that would never happen. */
    private static void end(int status) {
        if (STATUS.compareAndSet(null, status)) {
            PrintStream nothing = new PrintStream(OutputStream.nullOutputStream());
            System.setOut(nothing);
            System.setErr(nothing);
        }
        throw new Ended();
    }

    public static void main(String[] ignored) throws Exception {
        PrintStream results = System.out;
        BufferedReader commands =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Exit.setExitProcedure((status, message) -> end(status));
        Exit.setHaltProcedure((status, message) -> end(status));
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        String line;
        while ((line = commands.readLine()) != null) {
            String[] parts = line.split("\t", -1);
            results.println(run(
                Long.parseLong(parts[0]),
                parts[1],
                Base64.getDecoder().decode(parts[2]),
                Arrays.copyOfRange(parts, 3, parts.length)));
            results.flush();
        }
        System.exit(0);
    }

    private static String run(long limitMs, String mainClass, byte[] input, String[] arguments)
            throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        PrintStream printed = new PrintStream(out, true, StandardCharsets.UTF_8);
        PrintStream complained = new PrintStream(err, true, StandardCharsets.UTF_8);
        System.setIn(new ByteArrayInputStream(input));
        System.setOut(printed);
        System.setErr(complained);
        STATUS.set(null);
        AtomicReference<String> status = new AtomicReference<>("timeout");
        Thread thread = new Thread(() -> {
            String result = call(mainClass, arguments);
            System.setOut(printed);
            System.setErr(complained);
            HOOKS.forEach(Runnable::run);
            status.set(result);
        }, "main");
        HOOKS.clear();
        thread.setDaemon(true);
        thread.start();
        thread.join(limitMs);
        if (thread.isAlive()) {
            thread.interrupt();
            thread.join(2000);
            status.set("timeout");
        }
        return status.get() + "\t" + encode(out) + "\t" + encode(err);
    }

    private static String call(String mainClass, String[] arguments) {
        try {
            Class.forName(mainClass)
                .getMethod("main", String[].class)
                .invoke(null, (Object) arguments);
            return STATUS.get() == null ? "0" : String.valueOf(STATUS.get());
        } catch (InvocationTargetException error) {
            if (STATUS.get() != null) {
                return String.valueOf(STATUS.get());
            }
            error.getCause().printStackTrace();
            return "1";
        } catch (ReflectiveOperationException error) {
            return "no " + mainClass;
        }
    }

    private static String encode(ByteArrayOutputStream bytes) {
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }
}

/**
 * Writes a record in a transaction and leaves it open, which no tool of Kafka does.
 *
 * Arguments: --bootstrap-server, the servers, the topic, the transactional id.
 */
final class OpenTransaction {
    public static void main(String[] arguments) throws Exception {
        KafkaProducer<String, String> producer = new KafkaProducer<>(
            Map.of("bootstrap.servers", arguments[1], "transactional.id", arguments[3]),
            new StringSerializer(),
            new StringSerializer());
        producer.initTransactions();
        producer.beginTransaction();
        producer.send(new ProducerRecord<>(arguments[2], 0, "key", "value")).get();
        producer.close(Duration.ZERO);
    }
}

/**
 * Joins a group, reads and commits all records of a topic, and stays a member until LeaveGroups.
 *
 * Arguments: --bootstrap-server, the servers, the type of the group, its id, the client id, the
 * topic, and how many records to read.
 */
final class JoinGroup {
    private static final Duration POLL = Duration.ofMillis(200);
    static final Queue<Runnable> LEAVE = new ConcurrentLinkedQueue<>();

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", arguments[1]);
        config.put("group.id", arguments[3]);
        config.put("client.id", arguments[4]);
        config.put("key.deserializer", StringDeserializer.class.getName());
        config.put("value.deserializer", StringDeserializer.class.getName());
        List<String> topics = List.of(arguments[5]);
        int records = Integer.parseInt(arguments[6]);
        if (arguments[2].equals("share")) {
            joinShareGroup(config, topics, records);
        } else {
            joinConsumerGroup(config, arguments[2], topics, records);
        }
    }

    private static void joinConsumerGroup(
            Map<String, Object> config, String type, List<String> topics, int records)
            throws Exception {
        config.put("group.protocol", type);
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", "false");
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config);
        consumer.subscribe(topics);
        int read = 0;
        while (read < records) {
            read += consumer.poll(POLL).count();
        }
        consumer.commitSync();
        stay(() -> consumer.poll(POLL), () -> consumer.close(CloseOptions.groupMembershipOperation(
            CloseOptions.GroupMembershipOperation.LEAVE_GROUP)));
    }

    private static void joinShareGroup(
            Map<String, Object> config, List<String> topics, int records) throws Exception {
        KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(config);
        consumer.subscribe(topics);
        int read = 0;
        while (read < records) {
            read += consumer.poll(POLL).count();
        }
        consumer.commitSync();
        stay(() -> consumer.poll(POLL), consumer::close);
    }

    private static void stay(Runnable poll, Runnable close) {
        AtomicBoolean leaves = new AtomicBoolean();
        Thread thread = new Thread(() -> {
            while (!leaves.get()) {
                poll.run();
            }
            close.run();
        });
        thread.setDaemon(true);
        thread.start();
        LEAVE.add(() -> {
            leaves.set(true);
            try {
                thread.join();
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        });
    }
}

/** Leaves all groups that JoinGroup joined. */
final class LeaveGroups {
    public static void main(String[] arguments) {
        for (Runnable leave = JoinGroup.LEAVE.poll(); leave != null; leave = JoinGroup.LEAVE.poll()) {
            leave.run();
        }
    }
}
