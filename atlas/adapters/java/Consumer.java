import com.eclipsesource.json.Json;
import com.eclipsesource.json.JsonArray;
import com.eclipsesource.json.JsonObject;
import com.eclipsesource.json.JsonValue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** KafkaConsumer. How many records a poll returns at most is one of its settings, and keeps its default. */
final class Consumer implements Adapter.Handle {
    private static final String ASSIGNORS = "org.apache.kafka.clients.consumer.";
    private final KafkaConsumer<String, String> consumer;

    Consumer(Settings settings, JsonObject command) {
        boolean isServerSide = "consumer".equals(settings.text("group_protocol"));
        settings.keep("group", "group.id");
        settings.keep("instance_id", "group.instance.id");
        settings.keep("isolation", "isolation.level");
        settings.keep("auto_offset_reset", "auto.offset.reset");
        settings.keep("auto_commit", "enable.auto.commit");
        settings.keep("fetch_max_wait_ms", "fetch.max.wait.ms");
        if (Adapter.exists("org.apache.kafka.clients.consumer.GroupProtocol")) {
            settings.keep("group_protocol", "group.protocol");
        }
        if (isServerSide) {
            // The broker has the timeouts of the group, and the client refuses its own.
            settings.keep("assignor", "group.remote.assignor");
        } else {
            settings.keep("session_timeout_ms", "session.timeout.ms");
            settings.keep("heartbeat_interval_ms", "heartbeat.interval.ms");
            settings.keep("assignor", "partition.assignment.strategy", Map.of(
                "range", ASSIGNORS + "RangeAssignor", "roundrobin", ASSIGNORS + "RoundRobinAssignor",
                "sticky", ASSIGNORS + "StickyAssignor", "cooperative-sticky", ASSIGNORS + "CooperativeStickyAssignor"));
        }
        consumer = new KafkaConsumer<>(settings.config, new StringDeserializer(), new StringDeserializer());
        if (command.get("topics") != null) {
            consumer.subscribe(topics(command));
        } else {
            List<TopicPartition> partitions = new ArrayList<>();
            for (JsonObject.Member topic : command.get("assign").asObject()) {
                for (JsonValue partition : topic.getValue().asArray()) {
                    partitions.add(new TopicPartition(topic.getName(), partition.asInt()));
                }
            }
            consumer.assign(partitions);
        }
    }

    static List<String> topics(JsonObject command) {
        List<String> names = new ArrayList<>();
        command.get("topics").asArray().forEach(name -> names.add(name.asString()));
        return names;
    }

    ConsumerGroupMetadata groupMetadata() {
        return consumer.groupMetadata();
    }

    @Override
    public JsonObject run(String name, JsonObject command) {
        Duration timeout = Adapter.timeout(command);
        TopicPartition partition = new TopicPartition(command.getString("topic", ""), command.getInt("partition", 0));
        switch (name) {
            case "poll":
                JsonArray records = new JsonArray();
                for (ConsumerRecord<String, String> record : consumer.poll(timeout)) {
                    records.add(Adapter.record(record));
                }
                return Json.object().add("records", records);
            case "commit":
                consumer.commitSync(timeout);
                return Json.object();
            case "position":
                return Json.object().add("offset", consumer.position(partition, timeout));
            case "committed":
                OffsetAndMetadata offset = consumer.committed(Set.of(partition), timeout).get(partition);
                return Json.object().add("offset", offset == null ? Json.NULL : Json.value(offset.offset()));
            case "seek":
                consumer.seek(partition, command.getLong("offset", 0));
                return Json.object();
            default:
                return null;
        }
    }

    @Override
    public void close(Duration timeout) {
        consumer.close(timeout);
    }
}
