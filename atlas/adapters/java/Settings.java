import com.eclipsesource.json.Json;
import com.eclipsesource.json.JsonArray;
import com.eclipsesource.json.JsonObject;
import com.eclipsesource.json.JsonValue;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;

/** The settings of a client under Kafka's names. */
final class Settings {
    final Properties config = new Properties();
    private final JsonObject given;
    private final Set<String> used = new TreeSet<>();

    Settings(String servers, JsonObject command) {
        JsonValue settings = command.get("settings");
        given = settings == null ? Json.object() : settings.asObject();
        config.setProperty("bootstrap.servers", servers);
        keep("request_timeout_ms", "request.timeout.ms");
        keep("retry_backoff_ms", "retry.backoff.ms");
        keep("metadata_max_age_ms", "metadata.max.age.ms");
        if (has("security")) {
            used.add("security");
            used.add("token_auth");
            secure(given.get("security").asObject());
        }
    }

    boolean has(String name) {
        return given.get(name) != null && !given.get(name).isNull();
    }

    String text(String name) {
        return has(name) ? plain(given.get(name)) : null;
    }

    /** Sets Kafka's key to the value of a setting, if there is one. */
    void keep(String name, String key) {
        if (has(name)) {
            used.add(name);
            config.setProperty(key, text(name));
        }
    }

    /** The same, with Kafka's word for each word. */
    void keep(String name, String key, Map<String, String> words) {
        if (has(name) && words.containsKey(text(name))) {
            used.add(name);
            config.setProperty(key, words.get(text(name)));
        }
    }

    JsonObject ignored() {
        JsonArray names = new JsonArray();
        for (String name : given.names()) {
            if (has(name) && !used.contains(name)) {
                names.add(name);
            }
        }
        return Json.object().add("ignored", names);
    }

    private void secure(JsonObject user) {
        String mechanism = user.getString("mechanism", "PLAIN");
        String module = mechanism.startsWith("SCRAM") ? "scram.ScramLoginModule" : "plain.PlainLoginModule";
        config.setProperty("security.protocol", "SASL_PLAINTEXT");
        config.setProperty("sasl.mechanism", mechanism);
        config.setProperty("sasl.jaas.config", String.format(
            "org.apache.kafka.common.security.%s required username=\"%s\" password=\"%s\"%s;",
            module, user.getString("username", ""), user.getString("password", ""),
            given.getBoolean("token_auth", false) ? " tokenauth=\"true\"" : ""));
    }

    private static String plain(JsonValue value) {
        return value.isString() ? value.asString() : value.toString();
    }
}
