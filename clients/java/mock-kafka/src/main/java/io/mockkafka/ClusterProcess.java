package io.mockkafka;

import java.io.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Consumer;

/** The process of a cluster. It ends when its standard input closes, so also with this JVM. */
final class ClusterProcess {
    private static final int END_TIMEOUT_S = 5;
    private static final int LOG_LINES_MAX = 10_000;

    /** What it has printed, by key. */
    final Map<String, String> printed = new ConcurrentHashMap<>();

    final BlockingDeque<String> log = new LinkedBlockingDeque<>(LOG_LINES_MAX);
    final Process process;
    private final CompletableFuture<Void> errors;

    /**
     * Start the command, and wait until it has printed the value of a key.
     *
     * @throws MockKafkaException the process ended before, or did not print it in time
     */
    ClusterProcess(List<String> command, String lastKey, Duration timeout) {
        ProcessBuilder program = new ProcessBuilder(command);
        // These variables are for brokers that are started by hand.
        program.environment().keySet().removeIf(name -> name.startsWith("MOCK_KAFKA_"));
        try {
            process = program.start();
        } catch (IOException error) {
            throw new MockKafkaException("mock-kafka can't be started: " + error.getMessage(), error);
        }
        errors = onLines(process.getErrorStream(), line -> {
            while (!log.offer(line)) {
                log.poll();
            }
        });
        CompletableFuture<String> failure = new CompletableFuture<>();
        onLines(process.getInputStream(), line -> {
            String[] parts = line.split("=", 2);
            printed.put(parts[0], parts[parts.length - 1]);
            if (parts[0].equals(lastKey)) {
                failure.complete("");
            }
        }).thenRun(() -> failure.complete(" ended"));
        failure.completeOnTimeout(" printed no address for " + timeout, timeout.toMillis(), TimeUnit.MILLISECONDS);
        if (!failure.join().isEmpty()) {
            close();
            throw new MockKafkaException("the cluster did not start: " + String.join(" ", command) + failure.join()
                    + ". Its standard error:\n" + String.join("\n", log));
        }
    }

    private static CompletableFuture<Void> onLines(InputStream stream, Consumer<String> consumer) {
        Scanner lines = new Scanner(stream, "UTF-8").useDelimiter("\r?\n");
        return CompletableFuture.runAsync(() -> lines.forEachRemaining(consumer), task -> {
            Thread reader = new Thread(task, "mock-kafka-reader");
            reader.setDaemon(true);
            reader.start();
        });
    }

    /** Close standard input, which ends the process also behind a wrapper; kill it after a while. */
    void close() {
        new PrintWriter(process.getOutputStream()).close(); // it throws nothing if the process has ended
        process.onExit().completeOnTimeout(process, END_TIMEOUT_S, TimeUnit.SECONDS).join().destroyForcibly();
        errors.completeOnTimeout(null, END_TIMEOUT_S, TimeUnit.SECONDS).join();
    }
}
