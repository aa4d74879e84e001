import com.eclipsesource.json.Json;
import com.eclipsesource.json.JsonArray;
import com.eclipsesource.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** KafkaShareConsumer, which kafka-clients has from 4.1 on, with explicit acknowledgements. */
final class ShareConsumers implements Adapter.Handle {
    private final KafkaShareConsumer<String, String> consumer;
    private final List<ConsumerRecord<String, String>> polled = new ArrayList<>();

    ShareConsumers(Settings settings, JsonObject command) {
        settings.keep("group", "group.id");
        settings.keep("fetch_max_wait_ms", "fetch.max.wait.ms");
        settings.config.setProperty("share.acknowledgement.mode", "explicit");
        consumer = new KafkaShareConsumer<>(settings.config, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(Consumer.topics(command));
    }

    @Override
    public JsonObject run(String name, JsonObject command) {
        switch (name) {
            case "poll":
                JsonArray records = new JsonArray();
                for (ConsumerRecord<String, String> record : consumer.poll(Adapter.timeout(command))) {
                    polled.add(record);
                    records.add(Adapter.record(record));
                }
                return Json.object().add("records", records);
            case "acknowledge":
                acknowledge(command);
                return Json.object();
            case "commit":
                Map<TopicIdPartition, Optional<KafkaException>> results = consumer.commitSync(Adapter.timeout(command));
                results.values().forEach(result -> result.ifPresent(error -> {
                    throw error;
                }));
                return Json.object();
            default:
                return null;
        }
    }

    private void acknowledge(JsonObject command) {
        AcknowledgeType type = AcknowledgeType.valueOf(command.getString("type", "accept").toUpperCase());
        for (ConsumerRecord<String, String> record : polled) {
            if (record.topic().equals(command.getString("topic", "")) && record.offset() == command.getLong("offset", 0)
                && record.partition() == command.getInt("partition", 0)) {
                consumer.acknowledge(record, type);
                polled.remove(record);
                return;
            }
        }
        throw new IllegalStateException("no such record was polled");
    }

    @Override
    public void close(Duration timeout) {
        consumer.close(timeout);
    }
}
