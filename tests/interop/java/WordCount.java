import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.WindowStore;

/**
 * Count the words of lines in windows of a minute, with Kafka Streams, until the process is ended.
 *
 * Arguments: the topic of lines; then `GUARANTEE:APPLICATION` for each application to run, both written
 * to the topic `LINES.APPLICATION`; then the configuration of all of them, KEY=VALUE each. Standard
 * output has a line for every state, and for every error that a thread ended with.
 */
public final class WordCount {
    private static final TimeWindows WINDOWS =
            TimeWindows.ofSizeAndGrace(Duration.ofMinutes(1), Duration.ofHours(1));

    private WordCount() {}

    public static void main(String[] arguments) throws Exception {
        String lines = arguments[0];
        Properties config = new Properties();
        for (String argument : arguments) {
            String[] parts = argument.split("=", 2);
            if (parts.length == 2) {
                config.setProperty(parts[0], parts[1]);
            }
        }
        for (String argument : arguments) {
            String[] parts = argument.split(":", 2);
            if (parts.length == 2 && !argument.contains("=")) {
                start(config, lines, parts[0], parts[1]);
            }
        }
        new CountDownLatch(1).await();
    }

    private static void start(Properties shared, String lines, String guarantee, String application) {
        Properties config = new Properties();
        config.putAll(shared);
        config.setProperty(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee);
        config.setProperty(StreamsConfig.APPLICATION_ID_CONFIG, application);
        StreamsBuilder builder = new StreamsBuilder();
        count(builder.stream(lines, Consumed.with(Serdes.String(), Serdes.String())))
                .to(lines + "." + application, Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), config);
        streams.setStateListener((newState, oldState) -> print("state", application, newState));
        streams.setUncaughtExceptionHandler(error -> {
            print("error", application, error);
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        streams.start();
    }

    /** The key of a result is `WORD@WINDOW_START_MS`, the value its count so far. */
    private static KStream<String, String> count(KStream<String, String> lines) {
        Materialized<String, Long, WindowStore<Bytes, byte[]>> store = Materialized.as("counts");
        return lines.flatMapValues(line -> Arrays.asList(line.split(" ")))
                .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
                .windowedBy(WINDOWS)
                .count(store.withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
                .toStream((window, count) -> window.key() + "@" + window.window().start())
                .mapValues(String::valueOf);
    }

    private static void print(Object... words) {
        List<String> texts = Arrays.stream(words).map(String::valueOf).toList();
        System.out.println(String.join("\t", texts).replace('\n', ' '));
    }
}
