import com.eclipsesource.json.Json;
import com.eclipsesource.json.JsonArray;
import com.eclipsesource.json.JsonObject;
import com.eclipsesource.json.JsonValue;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.InvalidPidMappingException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TransactionalIdAuthorizationException;
import org.apache.kafka.common.errors.UnsupportedVersionException;

/**
 * The adapter of the Java client, 2.8 to 4.4: reads commands as JSON lines from standard input, and writes events as
 * JSON lines to standard output. docs/atlas.md describes both.
 */
public final class Adapter {
    static final long WAIT_MS_MAX = 15_000;
    private static final long START_NANOS = System.nanoTime();
    private static final Map<String, Handle> HANDLES = new HashMap<>();
    private static PrintStream events;
    private static String servers = "";

    private Adapter() {}

    /** A producer, a consumer or an admin client. */
    interface Handle {
        /** Carries out a command; null if this kind of client has no such method. */
        JsonObject run(String name, JsonObject command) throws Exception;

        void close(Duration timeout);

        /** The class of an error that the javadoc of this kind of client gives. */
        default String classify(Throwable error) {
            return Adapter.classify(error);
        }
    }

    /** A call that has not returned in time. */
    static final class Unanswered extends RuntimeException {
        Unanswered() {
            super("the call has not returned");
        }
    }

    public static void main(String[] arguments) throws Exception {
        events = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        JsonArray supports = new JsonArray();
        for (String name : "producer,idempotence,transactions,consumer,group,admin,delegation_tokens".split(",")) {
            supports.add(name);
        }
        if (exists("org.apache.kafka.clients.consumer.GroupProtocol")) {
            supports.add("group_protocol_consumer");
        }
        if (exists("ShareConsumers")) {
            supports.add("share");
        }
        if (exists("Streams")) {
            supports.add("streams");
        }
        emit("ready", Json.object().add("client", "java").add("version", version()).add("supports", supports));
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonObject command = Json.parse(line).asObject();
            if (command.getString("command", "").equals("end")) {
                emit("done", Json.object().add("n", command.get("n")));
                break;
            }
            carryOut(command);
        }
        events.flush();
        Runtime.getRuntime().halt(0); // threads of clients may be left
    }

    private static void carryOut(JsonObject command) {
        Handle handle = null;
        JsonObject done;
        String event = "done";
        try {
            String id = null;
            for (String kind : new String[] {"streams", "admin", "consumer", "producer"}) {
                id = command.getString(kind, id);
            }
            handle = id == null ? null : HANDLES.get(id);
            if (id != null && handle == null) {
                throw new IllegalArgumentException("it was not created");
            }
            if (handle instanceof Producer && command.get("consumer") != null) {
                done = ((Producer) handle).sendOffsets(command, (Consumer) HANDLES.get(command.getString("consumer", "")));
            } else {
                done = handle == null ? create(command) : handle.run(command.getString("command", ""), command);
            }
            if (done == null) {
                event = "unsupported";
                done = Json.object();
            }
        } catch (Throwable error) {
            event = "failed";
            done = errorFields(error, handle);
        }
        emit(event, done.set("n", command.get("n")));
    }

    private static JsonObject create(JsonObject command) throws Exception {
        String id = command.getString("id", null);
        Settings settings = new Settings(servers, command);
        switch (command.getString("command", "")) {
            case "begin":
                HANDLES.values().forEach(left -> left.close(Duration.ZERO));
                HANDLES.clear();
                servers = command.getString("bootstrap", "");
                return Json.object();
            case "sleep":
                Thread.sleep(command.getLong("ms", 0));
                return Json.object();
            case "producer":
                Producer producer = new Producer(settings);
                HANDLES.put(id, producer);
                producer.init();
                return settings.ignored();
            case "consumer":
                HANDLES.put(id, new Consumer(settings, command));
                return settings.ignored();
            case "share_consumer":
                return createIfKnown("ShareConsumers", settings, command);
            case "streams":
                return createIfKnown("Streams", settings, command);
            case "admin":
                HANDLES.put(id, new Admins(settings));
                return settings.ignored();
            case "close":
                Handle handle = HANDLES.remove(id);
                long start = System.nanoTime();
                if (handle != null) {
                    handle.close(timeout(command));
                }
                return Json.object().add("took_ms", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start));
            default:
                return null;
        }
    }

    /** Creates what only newer releases have; null if this one has it not. */
    private static JsonObject createIfKnown(String type, Settings settings, JsonObject command) throws Exception {
        if (!exists(type)) {
            return null;
        }
        Object opened = Class.forName(type).getDeclaredConstructor(Settings.class, JsonObject.class)
            .newInstance(settings, command);
        HANDLES.put(command.getString("id", null), (Handle) opened);
        return settings.ignored();
    }

    private static String version() throws IOException {
        Properties build = new Properties();
        try (InputStream file = KafkaException.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            build.load(file);
        }
        return build.getProperty("version");
    }

    static boolean exists(String type) {
        try {
            Class.forName(type);
            return true;
        } catch (ClassNotFoundException missing) {
            return false;
        }
    }

    static Duration timeout(JsonObject command) {
        return Duration.ofMillis(command.getLong("timeout_ms", WAIT_MS_MAX));
    }

    static void delivered(JsonValue n, long offset, Throwable error, Handle producer) {
        if (error == null) {
            emit("delivered", Json.object().add("send", n).add("offset", offset));
        } else {
            emit("undelivered", errorFields(error, producer).add("send", n));
        }
    }

    static JsonObject record(ConsumerRecord<String, String> record) {
        return Json.object().add("topic", record.topic()).add("partition", record.partition())
            .add("offset", record.offset()).add("key", record.key()).add("value", record.value());
    }

    private static JsonObject errorFields(Throwable error, Handle handle) {
        while (error instanceof ExecutionException || error instanceof java.lang.reflect.InvocationTargetException) {
            error = error.getCause();
        }
        String name = error instanceof Unanswered ? "unanswered" : error.getClass().getSimpleName();
        String kind = handle == null ? classify(error) : handle.classify(error);
        return Json.object().add("error", name).add("class", kind).add("message", String.valueOf(error.getMessage()));
    }

    /** By the classes of Kafka's errors; KafkaException itself has the class of its cause. */
    static String classify(Throwable error) {
        if (error instanceof TimeoutException) {
            return "timeout";
        } else if (error instanceof RetriableException) {
            return "retriable";
        } else if (error.getClass().getSimpleName().equals("TransactionAbortableException")) {
            return "abortable";
        } else if (error instanceof ApiException) {
            return "fatal";
        } else if (error instanceof KafkaException && error.getCause() instanceof KafkaException) {
            return classify(error.getCause());
        }
        return "unknown";
    }

    /** After these errors a transactional producer refuses to go on (TransactionManager); after the others it aborts. */
    static String classifyInTransaction(Throwable error) {
        if (error instanceof ProducerFencedException
            || error instanceof ClusterAuthorizationException
            || error instanceof TransactionalIdAuthorizationException
            || error instanceof InvalidPidMappingException
            || error instanceof UnsupportedVersionException) {
            return "fatal";
        } else if (error instanceof TimeoutException) {
            return "timeout";
        }
        return error instanceof KafkaException ? "abortable" : "unknown";
    }

    static synchronized void emit(String event, JsonObject fields) {
        double atMs = (System.nanoTime() - START_NANOS) / 1000 / 1000.0;
        events.println(fields.add("event", event).add("at_ms", atMs));
    }
}
