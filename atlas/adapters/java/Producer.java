import com.eclipsesource.json.Json;
import com.eclipsesource.json.JsonObject;
import com.eclipsesource.json.JsonValue;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

/** KafkaProducer. Another thread calls it in order, since even send() may wait for metadata. */
final class Producer implements Adapter.Handle {
    private static final long LATE_MS = 200;
    private final KafkaProducer<String, String> producer;
    private final boolean isTransactional;
    private final ExecutorService calls = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "calls");
        thread.setDaemon(true);
        return thread;
    });

    Producer(Settings settings) {
        settings.keep("acks", "acks");
        settings.keep("idempotent", "enable.idempotence");
        settings.keep("transactional_id", "transactional.id");
        settings.keep("transaction_timeout_ms", "transaction.timeout.ms");
        settings.keep("linger_ms", "linger.ms");
        settings.keep("retries", "retries");
        settings.keep("max_in_flight", "max.in.flight.requests.per.connection");
        settings.keep("compression", "compression.type");
        settings.keep("delivery_timeout_ms", "delivery.timeout.ms");
        settings.keep("delivery_timeout_ms", "max.block.ms");
        if (settings.has("delivery_timeout_ms") && !settings.has("request_timeout_ms")) {
            // The producer refuses a delivery timeout below the sum of the request timeout and the linger time.
            long linger = settings.has("linger_ms") ? Long.parseLong(settings.text("linger_ms")) : 0;
            settings.config.putIfAbsent("linger.ms", "0");
            long left = Long.parseLong(settings.text("delivery_timeout_ms")) - linger;
            settings.config.setProperty("request.timeout.ms", String.valueOf(Math.min(30_000, left)));
        }
        isTransactional = settings.has("transactional_id");
        producer = new KafkaProducer<>(settings.config, new StringSerializer(), new StringSerializer());
    }

    void init() throws Exception {
        if (isTransactional) {
            call(() -> producer.initTransactions(), Duration.ofMillis(Adapter.WAIT_MS_MAX));
        }
    }

    @Override
    public JsonObject run(String name, JsonObject command) throws Exception {
        switch (name) {
            case "send":
                calls.submit(() -> send(command));
                return Json.object();
            case "flush":
                return call(producer::flush, Adapter.timeout(command));
            case "begin_transaction":
                return call(producer::beginTransaction, Adapter.timeout(command));
            case "commit_transaction":
                return call(producer::commitTransaction, Adapter.timeout(command));
            case "abort_transaction":
                return call(producer::abortTransaction, Adapter.timeout(command));
            default:
                return null;
        }
    }

    private void send(JsonObject command) {
        JsonValue n = command.get("n");
        try {
            ProducerRecord<String, String> record = new ProducerRecord<>(
                command.getString("topic", null), command.getInt("partition", 0), text(command, "key"),
                text(command, "value"));
            producer.send(record, (metadata, error) ->
                Adapter.delivered(n, error == null && metadata.hasOffset() ? metadata.offset() : -1, error, this));
        } catch (RuntimeException error) {
            Adapter.delivered(n, -1, error, this);
        }
    }

    private JsonObject call(Runnable method, Duration timeout) throws Exception {
        Future<?> done = calls.submit(method);
        try {
            done.get(timeout.toMillis() + LATE_MS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException late) {
            throw new Adapter.Unanswered();
        }
        return Json.object();
    }

    JsonObject sendOffsets(JsonObject command, Consumer consumer) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (JsonObject.Member topic : command.get("offsets").asObject()) {
            for (JsonObject.Member partition : topic.getValue().asObject()) {
                offsets.put(new TopicPartition(topic.getName(), Integer.parseInt(partition.getName())),
                    new OffsetAndMetadata(partition.getValue().asLong()));
            }
        }
        return call(() -> producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata()), Adapter.timeout(command));
    }

    static String text(JsonObject command, String name) {
        JsonValue value = command.get(name);
        return value == null || value.isNull() ? null : value.asString();
    }

    @Override
    public void close(Duration timeout) {
        producer.close(timeout);
        calls.shutdown();
        try {
            // A send that still waits fails at once now, and its caller hears of it.
            calls.awaitTermination(LATE_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String classify(Throwable error) {
        return isTransactional ? Adapter.classifyInTransaction(error) : Adapter.classify(error);
    }
}
