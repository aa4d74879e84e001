package io.mockkafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mockkafka.admin.AdminApi;
import io.mockkafka.admin.Api;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LauncherTest {
    @TempDir
    Path folder;

    private static Path script(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/sh\n" + text + "\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static List<String> command(Map<String, String> environment) {
        return new MockKafkaOptions().brokers(2).config("num.partitions", 6).command(environment);
    }

    private static void send(MockKafka kafka) throws Exception {
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(kafka.clientProperties(), new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>("orders", "one coffee")).get();
        }
    }

    @Test
    void theProgramIsTheFirstOfThePath() throws Exception {
        String own = script(folder.resolve("own/mock-kafka"), "").toString();
        String uvx = script(folder.resolve("uvx/uvx"), "").toString();
        String path = folder.resolve("own") + File.pathSeparator + folder.resolve("uvx");
        List<String> arguments = List.of("serve", "--port", "0", "--admin-port", "0", "--until-stdin-closes",
                "--log-level", "warning", "--brokers", "2", "-o", "num.partitions=6");
        List<String> command = command(Map.of("PATH", path));
        assertEquals(own, command.get(0));
        assertEquals(arguments, command.subList(1, command.size()));
        Map<String, String> named = Map.of("PATH", path, "MOCK_KAFKA_COMMAND", " '/my programs/mock-kafka'  -v ");
        assertEquals(List.of("/my programs/mock-kafka", "-v", "serve"), command(named).subList(0, 3));
        assertEquals(
                List.of(uvx, "mock-kafka==" + AdminApi.VERSION, "serve"),
                command(Map.of("PATH", folder.resolve("uvx").toString())).subList(0, 3));
        MockKafkaOptions options = new MockKafkaOptions().command("python", "-m", "mock_kafka");
        assertEquals(List.of("python", "-m", "mock_kafka", "serve"),
                options.command(Map.of("PATH", path)).subList(0, 4));
    }

    @Test
    void withoutAProgramTheErrorSaysWhatWasLookedFor() {
        Map<String, String> nothing = Map.of("PATH", folder.toString());
        String message = assertThrows(MockKafkaException.class, () -> command(nothing)).getMessage();
        for (String name : List.of("MOCK_KAFKA_COMMAND", "MOCK_KAFKA_ADMIN_URL", "uvx", "docker", "podman", "install")) {
            assertTrue(message.contains(name), message);
        }
        Map<String, String> half = Map.of("MOCK_KAFKA_ADMIN_URL", "http://127.0.0.1:1");
        message = assertThrows(MockKafkaException.class, () -> MockKafka.start(new MockKafkaOptions(), half)).getMessage();
        assertTrue(message.contains("set both"), message);
    }

    @Test
    void aContainerAdvertisesThePortsOfThisMachine() throws Exception {
        // A container engine without containers: it runs the program with the arguments behind the image.
        String found = System.getenv("PATH");
        script(folder.resolve("docker"), "while [ \"$1\" != an-image ]; do shift; done; shift\n"
                + "PATH='" + found + "' exec mock-kafka \"$@\"");
        Map<String, String> environment = Map.of("PATH", folder.toString(), "MOCK_KAFKA_IMAGE", "an-image");
        try (MockKafka kafka = MockKafka.start(new MockKafkaOptions().brokers(2), environment)) {
            send(kafka);
            assertEquals("one coffee", kafka.records("orders").get(0).value());
            assertEquals(2, kafka.bootstrapServers().split(",").length);
        }
        List<String> command = command(environment);
        assertEquals(List.of(folder.resolve("docker").toString(), "run", "--rm", "--interactive", "--publish"),
                command.subList(0, 5));
        assertEquals(3, command.stream().filter("--publish"::equals).count());
    }

    @Test
    void aClusterThatRunsIsUsedAndNotStopped() throws Exception {
        try (MockKafka running = MockKafka.start()) {
            Map<String, String> environment = Map.of(
                    "MOCK_KAFKA_BOOTSTRAP_SERVERS", running.bootstrapServers(),
                    "MOCK_KAFKA_ADMIN_URL", running.adminUrl());
            MockKafka kafka = MockKafka.start(new MockKafkaOptions(), environment);
            MockKafkaOptions three = new MockKafkaOptions().brokers(3);
            String message = assertThrows(MockKafkaException.class, () -> MockKafka.start(three, environment)).getMessage();
            assertTrue(message.endsWith("has 1 brokers, and the test asks for 3"), message);
            kafka.produce("orders", "one coffee");
            kafka.close();
            assertEquals(1, running.records("orders").size());
            assertNull(kafka.process);
            assertEquals(List.of(), kafka.logLines());
        }
    }

    @Test
    void aFailedStartHasStandardError() {
        MockKafkaOptions options = new MockKafkaOptions().config("num.partition", 2);
        String message = assertThrows(MockKafkaException.class, () -> MockKafka.start(options)).getMessage();
        assertTrue(message.contains("num.partitions"), message);
        MockKafkaOptions absent = new MockKafkaOptions().command(folder.resolve("absent").toString());
        assertThrows(MockKafkaException.class, () -> MockKafka.start(absent));
    }

    @Test
    void aStartThatTakesTooLongIsEnded() throws Exception {
        String silent = script(folder.resolve("silent"), "echo waiting >&2; exec cat").toString();
        MockKafkaOptions options = new MockKafkaOptions().command(silent).startTimeout(Duration.ofMillis(500));
        String message = assertThrows(MockKafkaException.class, () -> MockKafka.start(options)).getMessage();
        assertTrue(message.contains("PT0.5S"), message);
        assertTrue(message.contains("waiting"), message);
    }

    @Test
    void clientsConnectWithTlsAndSasl() throws Exception {
        MockKafkaOptions options = new MockKafkaOptions().tls().user("alice", "a \"secret\", 100%");
        try (MockKafka kafka = MockKafka.start(options)) {
            send(kafka);
            assertEquals("SASL_SSL", kafka.clientProperties().get("security.protocol"));
            assertEquals("alice", kafka.requests(Api.PRODUCE).get(0).user());
        }
    }

    @Test
    void aStrictClusterRefusesWhatWasNotRecorded() throws Exception {
        String recorded = IntStream.range(0, 14)
                .mapToObj(version -> "{\"api\": \"Metadata\", \"version\": " + version + ", \"user\": \"User:ANONYMOUS\"}")
                .collect(Collectors.joining(", "));
        Path world = Files.writeString(folder.resolve("world.json"),
                "{\"topics\": [{\"name\": \"orders\", \"partitions\": [{}]}], \"requests\": [" + recorded + "]}");
        Path faults = Files.writeString(folder.resolve("faults.json"), "[{\"api\": \"Heartbeat\", \"delay_ms\": 1}]");
        MockKafkaOptions options = new MockKafkaOptions().snapshot(world).strict().faults(faults);
        try (MockKafka kafka = MockKafka.start(options); Admin admin = Admin.create(kafka.clientProperties())) {
            NewTopic payments = new NewTopic("payments", 1, (short) 1);
            String message = assertThrows(ExecutionException.class,
                    () -> admin.createTopics(List.of(payments)).all().get()).getMessage();
            assertTrue(message.contains("not recorded: CreateTopics"), message);
            String fault = kafka.requests(Api.CREATE_TOPICS).get(0).fault();
            assertTrue(fault.contains("The nearest one is Metadata"), fault);
            assertEquals("orders", kafka.topics().get(0).name());
            assertEquals(1, kafka.faults().size());
        }
        List<String> denying = new MockKafkaOptions().acls().arguments();
        assertEquals(List.of("-o", "authorizer.class.name=acl"), denying);
    }

    @Test
    void theAdminPortMayNeedAToken() {
        try (MockKafka kafka = MockKafka.start(new MockKafkaOptions().config("broker.admin.token", "secret"))) {
            kafka.reset();
            MockKafka stranger = MockKafka.connect(kafka.bootstrapServers(), kafka.adminUrl(), "guess");
            assertEquals(401, assertThrows(MockKafkaException.class, stranger::reset).status());
        }
    }

    @Test
    void aClosedClusterIsGone() {
        MockKafka kafka = MockKafka.start();
        ProcessHandle process = ProcessHandle.of(kafka.process.process.pid()).orElseThrow();
        kafka.close();
        kafka.close();
        assertFalse(process.isAlive());
        String message = assertThrows(MockKafkaException.class, kafka::reset).getMessage();
        assertTrue(message.contains("does not respond"), message);
    }

    @Test
    void aKilledJvmLeavesNoClusterBehind() throws Exception {
        Process jvm = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp", System.getProperty("java.class.path"), Waiting.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        StringBuilder text = new StringBuilder();
        for (int next = jvm.getInputStream().read(); next > '\n'; next = jvm.getInputStream().read()) {
            text.append((char) next);
        }
        ProcessHandle cluster = ProcessHandle.of(Long.parseLong(text.toString())).orElseThrow();
        assertTrue(cluster.isAlive());
        jvm.destroyForcibly();
        cluster.onExit().get(30, TimeUnit.SECONDS);
    }

    /** A program that starts a cluster, and never ends. */
    static final class Waiting {
        private Waiting() {}

        /** Print the id of the process of the cluster. */
        public static void main(String[] arguments) throws InterruptedException {
            System.out.println(MockKafka.start().process.process.pid());
            Thread.currentThread().join();
        }
    }
}
