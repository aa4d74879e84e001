package io.mockkafka;

import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;

/** A client of the admin port of a cluster, in JSON. Threads may share it. */
public final class AdminPort {
    /** Long enough to move the clock by a year. */
    private static final Duration RESPONSE_TIMEOUT = Duration.ofSeconds(60);

    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final ObjectMapper MAPPER = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .visibility(PropertyAccessor.ALL, Visibility.NONE)
            .visibility(PropertyAccessor.FIELD, Visibility.ANY)
            .visibility(PropertyAccessor.CREATOR, Visibility.ANY)
            // A field that is null was not set. In a map null is a value, as in a quota to remove.
            .defaultPropertyInclusion(
                    JsonInclude.Value.construct(JsonInclude.Include.NON_NULL, JsonInclude.Include.ALWAYS))
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .build();

    private final String url;
    private final String token;

    /** Use the port at {@code url}, with the value of {@code broker.admin.token} or null. */
    public AdminPort(String url, String token) {
        this.url = url.replaceAll("/+$", "");
        this.token = token;
    }

    /** Return the URL of the port. */
    public String url() {
        return url;
    }

    /**
     * Send a request and return its response; null if there is no content.
     *
     * @param body what is sent as JSON, or null
     * @throws MockKafkaException the cluster refuses the request, or does not respond
     */
    @SuppressWarnings("unchecked")
    public <T> T ask(String method, String path, Map<String, Object> query, Object body, TypeReference<T> type) {
        HttpResponse<String> response = send(method, path + queryText(query), body,
                RESPONSE_TIMEOUT.plusMillis(((Number) query.getOrDefault("timeout_ms", 0)).longValue()));
        String text = response.body();
        try {
            if (response.statusCode() >= 400) {
                throw MockKafkaException.of(response.statusCode(), text, MAPPER);
            }
            String kind = response.headers().firstValue("content-type").orElse("");
            if (text.isEmpty()) {
                return null;
            }
            return kind.startsWith("application/json") ? MAPPER.readValue(text, type) : (T) text;
        } catch (JsonProcessingException error) {
            throw new MockKafkaException(method + " " + path + " has another response: " + text, error);
        }
    }

    private HttpResponse<String> send(String method, String target, Object body, Duration timeout) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + target)).timeout(timeout);
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        request.method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(json(body)));
        try {
            return HTTP.send(request.build(), BodyHandlers.ofString());
        } catch (IOException error) {
            throw new MockKafkaException("the cluster at " + url + " does not respond: " + error, error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new MockKafkaException(method + " " + target + " was interrupted", error);
        }
    }

    private static String queryText(Map<String, Object> query) {
        return query.entrySet().stream()
                .filter(entry -> entry.getValue() != null)
                .map(entry -> entry.getKey() + "=" + encoded(entry.getValue()))
                .collect(Collectors.joining("&", query.isEmpty() ? "" : "?", ""));
    }

    /** Return a value as a part of a path or a query. */
    public static String encoded(Object value) {
        return URLEncoder.encode(value.toString(), StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** Return a value as JSON. */
    public static String json(Object value) {
        try {
            return MAPPER.writeValueAsString(value);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException(error);
        }
    }

    /** Return a copy of a value as another type, such as a part of a response. */
    static <T> T copy(Object value, Class<T> type) {
        return MAPPER.convertValue(value, type);
    }

    /** Return JSON as a value. */
    static <T> T parse(String text, Class<T> type) {
        try {
            return MAPPER.readValue(text, type);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException(error.getMessage(), error);
        }
    }

    static JsonNode tree(Object value) {
        return MAPPER.valueToTree(value);
    }
}
