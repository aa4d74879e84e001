package io.mockkafka;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.mockkafka.admin.ProblemDocument;
import java.io.*;
import java.net.*;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;

/** A client of the admin port of a cluster, in JSON. Threads may share it. */
public final class AdminPort {
    static final Duration WAIT = Duration.ofSeconds(10);
    /** Long enough to move the clock by a year. */
    private static final Duration RESPONSE_TIMEOUT = Duration.ofSeconds(60);

    private static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final String url;
    private final String token;

    /** Use the port at {@code url}, with the value of {@code broker.admin.token} or null. */
    public AdminPort(String url, String token) {
        this.url = url.replaceAll("/+$", "");
        this.token = token == null ? "" : token;
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
     * @throws AssertionError what an operation waits for did not happen; the message says what there is instead
     */
    @SuppressWarnings("unchecked")
    public <T> T ask(String method, String path, Map<String, Object> query, Object body, TypeReference<T> type) {
        String parameters = query.entrySet().stream().filter(entry -> entry.getValue() != null)
                .map(entry -> entry.getKey() + "=" + encoded(entry.getValue()))
                .collect(Collectors.joining("&", "?", ""));
        HttpRequest request = HttpRequest.newBuilder(URI.create(url + path + parameters))
                .timeout(RESPONSE_TIMEOUT.plusMillis(((Number) query.getOrDefault("timeout_ms", 0)).longValue()))
                .header("Authorization", "Bearer " + token)
                .method(method, HttpRequest.BodyPublishers.ofString(body == null ? "" : json(body)))
                .build();
        try {
            HttpResponse<String> response = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
            String text = response.body();
            if (response.statusCode() >= 400) {
                ProblemDocument problem = MAPPER.readValue(text, ProblemDocument.class);
                if (response.statusCode() == 408) { // it waited too long
                    throw new AssertionError(problem.detail());
                }
                throw new MockKafkaException(response.statusCode(), problem);
            }
            boolean isJson = response.headers().firstValue("content-type").orElse("").startsWith("application/json");
            return text.isEmpty() ? null : isJson ? MAPPER.readValue(text, type) : (T) text;
        } catch (IOException error) {
            throw new MockKafkaException("the cluster at " + url + " does not respond as it should: " + error, error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new MockKafkaException(method + " " + path + " was interrupted", error);
        }
    }

    /** Return a value as a part of a path or a query. */
    public static String encoded(Object value) {
        return URLEncoder.encode(value.toString(), StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** Return a value as JSON. */
    public static String json(Object value) {
        return MAPPER.valueToTree(value).toString();
    }

    /** Return a copy of a value as another type, such as a part of a response. */
    static <T> T copy(Object value, Class<T> type) {
        return MAPPER.convertValue(value, type);
    }

    /** Return the JSON of a file as a value. */
    static <T> T read(File file, Class<T> type) {
        try {
            return MAPPER.readValue(file, type);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
