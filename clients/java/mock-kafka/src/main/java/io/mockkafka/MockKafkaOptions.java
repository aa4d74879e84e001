package io.mockkafka;

import io.mockkafka.admin.AdminApi;
import java.io.*;
import java.net.*;
import java.util.*;
import java.util.stream.*;

/**
 * How a cluster starts. One that runs already has its own options, and is refused if it has another number of brokers.
 */
public final class MockKafkaOptions extends MockKafkaOptionsFields {
    private static final String WORD = "(?:\"[^\"]*\"|'[^']*'|[^\\s\"'])+";
    private static final String NO_PROGRAM = "there is no cluster, and no program that starts one. Looked for\n"
            + "- a running cluster in MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL\n"
            + "- a command in the options\n- a command in MOCK_KAFKA_COMMAND\n"
            + "- mock-kafka, uvx, docker and podman on the PATH\nInstall it with Python 3.11 or newer:"
            + " pip install path/to/mock-kafka, or uv tool install path/to/mock-kafka";

    /** Return the number of brokers, by default 1. */
    public int brokers() {
        return brokers == null ? 1 : brokers;
    }

    /** Return the value of {@code broker.admin.token}, or null. */
    public String adminToken() {
        return config.get("broker.admin.token");
    }

    /** Return the arguments of {@code mock-kafka serve} that these options stand for. */
    public List<String> arguments() {
        List<String> arguments = argumentsOfFields();
        if (!user.isEmpty()) {
            StringJoiner list = new StringJoiner(",", "sasl.users=", "");
            user.forEach((name, password) -> list.add(AdminPort.encoded(name) + ":" + AdminPort.encoded(password)));
            arguments.addAll(List.of("--sasl", "-o", list.toString()));
        }
        config.forEach((key, value) -> arguments.addAll(List.of("-o", key + "=" + value)));
        return arguments;
    }

    /**
     * Return the command that starts the cluster.
     *
     * @throws MockKafkaException there is no program
     */
    List<String> command(Map<String, String> environment) {
        // Split as a shell does: at spaces outside of quotes.
        List<String> words = new Scanner(environment.getOrDefault("MOCK_KAFKA_COMMAND", "")).findAll(WORD)
                .map(word -> word.group().replaceAll("\"([^\"]*)\"|'([^']*)'", "$1$2")).collect(Collectors.toList());
        List<String> given = command.isEmpty() ? words : command;
        if (!given.isEmpty()) {
            return serve(given, 0, 0);
        }
        String[] folders = environment.getOrDefault("PATH", "").split(File.pathSeparator);
        File found = Stream.of("mock-kafka", "uvx", "docker", "podman").flatMap(name -> find(name, folders)).findFirst()
                .orElseThrow(() -> new MockKafkaException(NO_PROGRAM));
        if (found.getName().startsWith("mock-kafka")) {
            return serve(List.of(found.getPath()), 0, 0);
        } else if (found.getName().startsWith("uvx")) {
            return serve(List.of(found.getPath(), "mock-kafka==" + AdminApi.VERSION), 0, 0);
        }
        // The ports of a container are those of this machine, so it can advertise them.
        int port = freePorts(brokers() + 1);
        List<String> run = new ArrayList<>(List.of(found.getPath(), "run", "--rm", "--interactive"));
        for (int each = port; each <= port + brokers(); each++) {
            run.addAll(List.of("--publish", "127.0.0.1:" + each + ":" + each));
        }
        run.add(environment.getOrDefault("MOCK_KAFKA_IMAGE", "mock-kafka"));
        return serve(run, port, port + brokers());
    }

    private List<String> serve(List<String> program, int port, int adminPort) {
        List<String> serve = List.of("serve", "--port", "" + port, "--admin-port", "" + adminPort);
        List<String> rest = List.of("--until-stdin-closes", "--log-level", "warning");
        return Stream.of(program, serve, rest, arguments()).flatMap(List::stream).collect(Collectors.toList());
    }

    /** Return the first of consecutive free ports. Another program may take one of them until the start. */
    private static int freePorts(int count) {
        int port = 0;
        try {
            for (int found = 0; found < count; found++) {
                try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"))) {
                    port = socket.getLocalPort() + 1;
                }
            }
            return port - count;
        } catch (IOException | IllegalArgumentException error) {
            return freePorts(count); // one of them is in use, or none
        }
    }

    private static Stream<File> find(String name, String[] folders) {
        Stream<String> endings = File.separatorChar == '\\' ? Stream.of(".exe", ".cmd", ".bat") : Stream.of("");
        return endings.flatMap(ending -> Stream.of(folders).map(folder -> new File(folder, name + ending)))
                .filter(file -> file.getParent() != null && file.isFile() && file.canExecute());
    }
}
