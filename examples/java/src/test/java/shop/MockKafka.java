package shop;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** A mock cluster: its own process, or the one that MOCK_KAFKA_ADMIN_URL names. */
final class MockKafka implements AutoCloseable {
    private final HttpClient http = HttpClient.newHttpClient();
    private final Process process;
    private String bootstrapServers = System.getenv("MOCK_KAFKA_BOOTSTRAP_SERVERS");
    private String adminUrl = System.getenv("MOCK_KAFKA_ADMIN_URL");

    MockKafka() throws IOException {
        if (adminUrl != null) {
            process = null;
            return;
        }
        // It ends with this JVM, also if that is killed, because its standard input closes then.
        process = new ProcessBuilder(
                        "mock-kafka", "serve", "--port", "0", "--admin-port", "0",
                        "--until-stdin-closes", "--log-level", "warning")
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader lines = process.inputReader();
        while (adminUrl == null) {
            String line = lines.readLine();
            if (line == null) {
                throw new IOException("mock-kafka did not start; standard error says why");
            }
            if (line.startsWith("bootstrap.servers=")) {
                bootstrapServers = line.substring(line.indexOf('=') + 1);
            } else if (line.startsWith("admin.url=")) {
                adminUrl = line.substring(line.indexOf('=') + 1);
            }
        }
    }

    String bootstrapServers() {
        return bootstrapServers;
    }

    /** Send a request to the admin port and return the body of its response. */
    String ask(String method, String path, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(adminUrl + path))
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .build();
        HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() >= 300) {
            throw new IOException(method + " " + path + ": " + response.body());
        }
        return response.body();
    }

    @Override
    public void close() {
        if (process != null) {
            process.destroy();
        }
    }
}
