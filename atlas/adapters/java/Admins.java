import com.eclipsesource.json.Json;
import com.eclipsesource.json.JsonArray;
import com.eclipsesource.json.JsonObject;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AbstractOptions;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.CreatePartitionsOptions;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DeleteConsumerGroupsOptions;
import org.apache.kafka.clients.admin.DeleteRecordsOptions;
import org.apache.kafka.clients.admin.DeleteTopicsOptions;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** Kafka's Admin. */
final class Admins implements Adapter.Handle {
    private static final long LATE_MS = 200;
    private final Admin admin;

    Admins(Settings settings) {
        settings.keep("retries", "retries");
        if (settings.has("request_timeout_ms")) {
            // The admin client refuses a timeout of a call below that of a request.
            long request = Long.parseLong(settings.text("request_timeout_ms"));
            settings.config.setProperty("default.api.timeout.ms", String.valueOf(Math.max(request, Adapter.WAIT_MS_MAX)));
        }
        admin = Admin.create(settings.config);
    }

    @Override
    public JsonObject run(String name, JsonObject command) throws Exception {
        String topic = command.getString("topic", "");
        List<String> topics = List.of(topic);
        List<String> groups = List.of(command.getString("group", ""));
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        int partitions = command.getInt("partitions", 1);
        TopicPartition partition = new TopicPartition(topic, command.getInt("partition", 0));
        JsonObject done = Json.object();
        switch (name) {
            case "create_topic":
                NewTopic created = new NewTopic(topic, partitions, (short) command.getInt("replication_factor", 1));
                get(admin.createTopics(List.of(created), in(new CreateTopicsOptions(), command)).all(), command);
                return done;
            case "delete_topic":
                get(admin.deleteTopics(topics, in(new DeleteTopicsOptions(), command)).all(), command);
                return done;
            case "create_partitions":
                Map<String, NewPartitions> counts = Map.of(topic, NewPartitions.increaseTo(partitions));
                get(admin.createPartitions(counts, in(new CreatePartitionsOptions(), command)).all(), command);
                return done;
            case "describe_topic":
                Object described = admin.describeTopics(topics, in(new DescribeTopicsOptions(), command));
                return done.add("partitions", topicOf(described, topic, command).partitions().size());
            case "list_topics":
                return done.add("topics", array(get(admin.listTopics(in(new ListTopicsOptions(), command)).names(), command)));
            case "describe_configs":
                JsonObject configs = Json.object();
                get(admin.describeConfigs(List.of(resource), in(new DescribeConfigsOptions(), command)).all(), command)
                    .get(resource).entries().forEach(entry -> configs.add(entry.name(), entry.value()));
                return done.add("configs", configs);
            case "alter_config":
                List<AlterConfigOp> changes = new ArrayList<>();
                for (JsonObject.Member member : command.get("config").asObject()) {
                    ConfigEntry entry = new ConfigEntry(member.getName(), member.getValue().asString());
                    changes.add(new AlterConfigOp(entry, AlterConfigOp.OpType.SET));
                }
                get(admin.incrementalAlterConfigs(Map.of(resource, changes), in(new AlterConfigsOptions(), command)).all(),
                    command);
                return done;
            case "list_groups":
                List<String> names = new ArrayList<>();
                get(admin.listConsumerGroups(in(new ListConsumerGroupsOptions(), command)).all(), command)
                    .forEach(group -> names.add(group.groupId()));
                return done.add("groups", array(names));
            case "describe_group":
                ConsumerGroupDescription group =
                    get(admin.describeConsumerGroups(groups, in(new DescribeConsumerGroupsOptions(), command)).all(), command)
                        .get(groups.get(0));
                return done.add("state", group.state().toString()).add("members", group.members().size());
            case "delete_group":
                get(admin.deleteConsumerGroups(groups, in(new DeleteConsumerGroupsOptions(), command)).all(), command);
                return done;
            case "delete_records":
                Map<TopicPartition, RecordsToDelete> before =
                    Map.of(partition, RecordsToDelete.beforeOffset(command.getLong("offset", 0)));
                get(admin.deleteRecords(before, in(new DeleteRecordsOptions(), command)).all(), command);
                return done;
            case "describe_cluster":
                JsonArray brokers = new JsonArray();
                get(admin.describeCluster(in(new DescribeClusterOptions(), command)).nodes(), command)
                    .forEach(node -> brokers.add(node.id()));
                return done.add("brokers", brokers);
            default:
                return null;
        }
    }

    /** The method has another name from 3.1 on, and 4.0 removed the old one. */
    @SuppressWarnings("unchecked")
    private static TopicDescription topicOf(Object result, String topic, JsonObject command) throws Exception {
        Method method;
        try {
            method = result.getClass().getMethod("allTopicNames");
        } catch (NoSuchMethodException older) {
            method = result.getClass().getMethod("all");
        }
        return get((KafkaFuture<Map<String, TopicDescription>>) method.invoke(result), command).get(topic);
    }

    private static <T extends AbstractOptions<T>> T in(T options, JsonObject command) {
        return options.timeoutMs((int) Adapter.timeout(command).toMillis());
    }

    private static <T> T get(KafkaFuture<T> future, JsonObject command) throws Exception {
        try {
            return future.get(Adapter.timeout(command).toMillis() + LATE_MS, TimeUnit.MILLISECONDS);
        } catch (java.util.concurrent.TimeoutException late) {
            throw new Adapter.Unanswered();
        }
    }

    private static JsonArray array(Iterable<String> names) {
        JsonArray array = new JsonArray();
        names.forEach(array::add);
        return array;
    }

    @Override
    public void close(Duration timeout) {
        admin.close(timeout);
    }
}
