package io.mockkafka;

import io.mockkafka.admin.AdminApi;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Find the program, and return the command that starts it. */
final class Launcher {
    private static final List<String> ENGINES = List.of("docker", "podman");
    private static final int PORT_ATTEMPTS = 50;

    private final MockKafkaOptions options;
    private final Map<String, String> environment;
    private String adminUrl;

    Launcher(MockKafkaOptions options, Map<String, String> environment) {
        this.options = options;
        this.environment = environment;
    }

    /** Return the URL of the admin port if the program cannot know it, as in a container; else null. */
    String adminUrl() {
        return adminUrl;
    }

    List<String> command() {
        List<String> program = program();
        if (program == null) {
            return containerCommand();
        }
        List<String> command = new ArrayList<>(program);
        command.addAll(List.of("serve", "--port", "0", "--admin-port", "0"));
        return finished(command);
    }

    private List<String> finished(List<String> command) {
        command.addAll(List.of("--until-stdin-closes", "--log-level", "warning"));
        command.addAll(options.arguments());
        return command;
    }

    private List<String> program() {
        if (!options.command().isEmpty()) {
            return options.command();
        }
        String named = environment.getOrDefault("MOCK_KAFKA_COMMAND", "");
        if (!named.isEmpty()) {
            return List.of(named);
        }
        if (find("mock-kafka") != null) {
            return List.of(find("mock-kafka"));
        }
        return find("uvx") == null ? null : List.of(find("uvx"), "mock-kafka==" + AdminApi.VERSION);
    }

    /** Return the command of a container whose ports are those of this machine, so it can advertise them. */
    private List<String> containerCommand() {
        String engine = ENGINES.stream().map(this::find).filter(path -> path != null).findFirst()
                .orElseThrow(() -> new MockKafkaException("mock-kafka is not here. Looked for: a command in the options;"
                        + " MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL of a running cluster;"
                        + " MOCK_KAFKA_COMMAND; mock-kafka, uvx, docker and podman on the PATH ("
                        + environment.getOrDefault("PATH", "") + ")."
                        + " Install it with: uv tool install mock-kafka==" + AdminApi.VERSION, null));
        int ports = options.brokers() + 1;
        int first = freePorts(ports);
        int adminPort = first + options.brokers();
        adminUrl = "http://127.0.0.1:" + adminPort;
        List<String> command = new ArrayList<>(List.of(engine, "run", "--rm", "--interactive"));
        for (int port = first; port < first + ports; port++) {
            command.addAll(List.of("--publish", "127.0.0.1:" + port + ":" + port));
        }
        command.add(environment.getOrDefault("MOCK_KAFKA_IMAGE", "mock-kafka"));
        command.addAll(List.of("serve", "--host", "0.0.0.0", "--advertised-host", "127.0.0.1"));
        command.addAll(List.of("--port", Integer.toString(first)));
        command.addAll(List.of("--admin-host", "0.0.0.0", "--admin-port", Integer.toString(adminPort)));
        return finished(command);
    }

    /** Return the first of consecutive free ports. Another program may take one of them until the start. */
    private static int freePorts(int count) {
        for (int attempt = 0; attempt < PORT_ATTEMPTS; attempt++) {
            List<ServerSocket> sockets = new ArrayList<>();
            try {
                InetAddress loopback = InetAddress.getByName("127.0.0.1");
                sockets.add(new ServerSocket(0, 1, loopback));
                int first = sockets.get(0).getLocalPort();
                for (int port = first + 1; port < first + count; port++) {
                    sockets.add(new ServerSocket(port, 1, loopback));
                }
                return first;
            } catch (IOException | IllegalArgumentException error) {
                continue; // one of them is in use, or none
            } finally {
                sockets.forEach(Launcher::close);
            }
        }
        throw new MockKafkaException("this machine has no " + count + " consecutive free ports", null);
    }

    private static void close(ServerSocket socket) {
        try {
            socket.close();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private String find(String name) {
        boolean isWindows = System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("windows");
        List<String> endings = isWindows ? List.of(".exe", ".cmd", ".bat") : List.of("");
        for (String folder : environment.getOrDefault("PATH", "").split(File.pathSeparator)) {
            for (String ending : endings) {
                Path path = Path.of(folder, name + ending);
                if (!folder.isEmpty() && Files.isRegularFile(path) && Files.isExecutable(path)) {
                    return path.toString();
                }
            }
        }
        return null;
    }
}
