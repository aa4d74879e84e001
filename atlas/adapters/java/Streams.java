import com.eclipsesource.json.Json;
import com.eclipsesource.json.JsonObject;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

/** KafkaStreams with the protocol of KIP-1071: an application that copies the records of a topic into another one. */
final class Streams implements Adapter.Handle {
    private final KafkaStreams streams;
    private final Set<String> values = new HashSet<>();
    private Throwable failure;

    Streams(Settings settings, JsonObject command) {
        settings.keep("group", "application.id");
        settings.keep("auto_offset_reset", "auto.offset.reset");
        settings.keep("fetch_max_wait_ms", "fetch.max.wait.ms");
        settings.config.setProperty("group.protocol", "streams");
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(command.getString("topic", ""), Consumed.with(Serdes.String(), Serdes.String()))
            .peek((key, value) -> seen(value))
            .to(command.getString("output", ""), Produced.with(Serdes.String(), Serdes.String()));
        streams = new KafkaStreams(builder.build(), settings.config);
        streams.setUncaughtExceptionHandler(error -> {
            failed(error);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
    }

    private synchronized void seen(String value) {
        values.add(value);
        notifyAll();
    }

    private synchronized void failed(Throwable error) {
        failure = error;
        notifyAll();
    }

    @Override
    public JsonObject run(String name, JsonObject command) throws Exception {
        return name.equals("process") ? process(command.getInt("records", 0), Adapter.timeout(command)) : null;
    }

    /** Waits until so many different values have passed. */
    private synchronized JsonObject process(int count, Duration timeout) throws Exception {
        long end = System.nanoTime() + timeout.toNanos();
        while (values.size() < count || failure != null) {
            long leftMs = (end - System.nanoTime()) / 1_000_000;
            if (failure != null) {
                throw failure instanceof Exception ? (Exception) failure : new IllegalStateException(failure);
            } else if (leftMs <= 0) {
                throw new Adapter.Unanswered();
            }
            wait(leftMs);
        }
        return Json.object().add("processed", values.size());
    }

    @Override
    public void close(Duration timeout) {
        streams.close(timeout);
    }
}
