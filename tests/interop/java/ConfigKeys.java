import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.DynamicConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Prints the configuration keys of Apache Kafka. Each line has, with tabs between them: the kind of
 * the resource, the name, type, default, whether the key is described only where it is set, its
 * update mode for a broker or its broker's key otherwise, and what each argument of the program
 * gives as a value of the key: the value behind "=", or the message of the error behind "!". "-"
 * stands for none.
 */
public final class ConfigKeys {
    private static final Set<ConfigDef.Type> UNTRIED =
        Set.of(ConfigDef.Type.CLASS, ConfigDef.Type.PASSWORD);

    public static void main(String[] texts) throws ReflectiveOperationException {
        Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        Map<String, ConfigKey> brokerKeys = new HashMap<>(DynamicConfig.Broker.configKeys());
        brokerKeys.putAll(AbstractKafkaConfig.CONFIG_DEF.configKeys());
        Set<String> described = AbstractKafkaConfig.CONFIG_DEF.names();
        for (ConfigKey key : brokerKeys.values()) {
            boolean isHidden = key.internalConfig || !described.contains(key.name);
            print("broker", key, isHidden, modes.getOrDefault(key.name, "read-only"), texts);
        }
        Map<String, String> topicSynonyms = ServerTopicConfigSynonyms.TOPIC_CONFIG_SYNONYMS;
        for (ConfigKey key : LogConfig.configKeys().values()) {
            print("topic", key, key.internalConfig, topicSynonyms.getOrDefault(key.name, "-"), texts);
        }
        for (ConfigKey key : GroupConfig.CONFIG_DEF.configKeys().values()) {
            Optional<String> synonym = GroupConfig.brokerSynonym(key.name);
            print("group", key, key.internalConfig, synonym.orElse("-"), texts);
        }
        Field field = ClientMetricsConfigs.class.getDeclaredField("CONFIG");
        field.setAccessible(true);
        for (ConfigKey key : ((ConfigDef) field.get(null)).configKeys().values()) {
            print("client metrics", key, key.internalConfig, "-", texts);
        }
    }

    private static void print(
            String kind, ConfigKey key, boolean isHidden, String mode, String[] texts) {
        List<String> line = new ArrayList<>();
        line.add(kind);
        line.add(key.name);
        line.add(key.type.toString());
        Object known = key.hasDefault() ? key.defaultValue : null;
        String given = ConfigDef.convertToString(known, key.type);
        line.add(given == null ? "-" : "=" + given);
        line.add(String.valueOf(isHidden));
        line.add(mode);
        if (!UNTRIED.contains(key.type)) {
            ConfigDef alone = new ConfigDef();
            alone.define(key);
            for (String text : texts) {
                line.add(tried(alone, key, text));
            }
        }
        System.out.println(String.join("\t", line));
    }

    private static String tried(ConfigDef alone, ConfigKey key, String text) {
        try {
            Object value = alone.parse(Map.of(key.name, text)).get(key.name);
            return "=" + ConfigDef.convertToString(value, key.type);
        } catch (RuntimeException error) {
            return "!" + error.getMessage();
        }
    }
}
