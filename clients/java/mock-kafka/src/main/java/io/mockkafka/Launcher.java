package io.mockkafka;

import io.mockkafka.admin.AdminApi;
import java.io.*;
import java.net.*;
import java.util.*;
import java.util.regex.Pattern;
import java.util.stream.*;

/** Find the program, and return the command that starts it. */
final class Launcher {
    private static final Pattern WORD = Pattern.compile("(?:\"[^\"]*\"|'[^']*'|[^\\s\"'])+");
    private static final String NO_PROGRAM = "there is no cluster, and no program that starts one. Looked for\n"
            + "- a running cluster in MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL\n"
            + "- a command in the options\n- a command in MOCK_KAFKA_COMMAND\n"
            + "- mock-kafka, uvx, docker and podman on the PATH\n"
            + "Install it with Python 3.11 or newer: pip install path/to/mock-kafka, or uv tool install path/to/mock-kafka";

    private Launcher() {}

    static List<String> command(MockKafkaOptions options, Map<String, String> environment) {
        // Split as a shell does: at spaces outside of quotes.
        List<String> words = WORD.matcher(environment.getOrDefault("MOCK_KAFKA_COMMAND", "")).results()
                .map(word -> word.group().replaceAll("\"([^\"]*)\"|'([^']*)'", "$1$2")).collect(Collectors.toList());
        List<String> given = options.command.isEmpty() ? words : options.command;
        if (!given.isEmpty()) {
            return serve(given, options, 0, 0);
        }
        String path = environment.getOrDefault("PATH", "");
        File found = Stream.of("mock-kafka", "uvx", "docker", "podman").flatMap(name -> find(name, path)).findFirst()
                .orElseThrow(() -> new MockKafkaException(NO_PROGRAM, null));
        if (found.getName().startsWith("mock-kafka")) {
            return serve(List.of(found.getPath()), options, 0, 0);
        } else if (found.getName().startsWith("uvx")) {
            return serve(List.of(found.getPath(), "mock-kafka==" + AdminApi.VERSION), options, 0, 0);
        }
        // The ports of a container are those of this machine, so it can advertise them.
        int port = freePorts(options.brokers() + 1);
        int adminPort = port + options.brokers();
        Stream<String> published = IntStream.rangeClosed(port, adminPort).boxed()
                .flatMap(each -> Stream.of("--publish", "127.0.0.1:" + each + ":" + each));
        Stream<String> run = Stream.concat(Stream.of(found.getPath(), "run", "--rm", "--interactive"), published);
        Stream<String> image = Stream.of(environment.getOrDefault("MOCK_KAFKA_IMAGE", "mock-kafka"));
        return serve(Stream.concat(run, image).collect(Collectors.toList()), options, port, adminPort);
    }

    private static List<String> serve(List<String> program, MockKafkaOptions options, int port, int adminPort) {
        List<String> command = new ArrayList<>(program);
        command.addAll(List.of("serve", "--port", "" + port, "--admin-port", "" + adminPort));
        command.addAll(List.of("--until-stdin-closes", "--log-level", "warning"));
        command.addAll(options.arguments());
        return command;
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

    private static Stream<File> find(String name, String path) {
        Stream<String> endings = File.separatorChar == '\\' ? Stream.of(".exe", ".cmd", ".bat") : Stream.of("");
        return endings.flatMap(ending -> Stream.of(path.split(File.pathSeparator)).map(folder -> new File(folder, name + ending)))
                .filter(file -> file.getParent() != null && file.isFile() && file.canExecute());
    }
}
