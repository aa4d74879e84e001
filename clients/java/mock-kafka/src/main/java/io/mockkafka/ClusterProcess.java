package io.mockkafka;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The process of a cluster. It ends when its standard input closes, so also with this JVM. */
final class ClusterProcess implements AutoCloseable {
    private static final Duration END_TIMEOUT = Duration.ofSeconds(5);
    private static final int LOG_LINES_MAX = 10_000;

    private final Map<String, String> printed = new ConcurrentHashMap<>();
    private final Deque<String> log = new ArrayDeque<>();
    private final List<String> command;
    private final Process process;
    private final Thread errors;
    private boolean hasEnded;

    /** Start the command. */
    ClusterProcess(List<String> command) {
        this.command = command;
        try {
            process = new ProcessBuilder(command).start();
        } catch (IOException error) {
            throw new MockKafkaException("mock-kafka can't be started: " + error.getMessage(), error);
        }
        read(process.getInputStream(), this::notePrinted, this::noteEnd);
        errors = read(process.getErrorStream(), this::noteLog, () -> { });
    }

    /**
     * Return the values of lines of standard output, as soon as all of them are printed.
     *
     * @throws MockKafkaException the process ended before, or did not print them in time
     */
    Map<String, String> await(List<String> keys, Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        boolean isStarted;
        String reason;
        synchronized (printed) {
            long remaining = timeout.toMillis();
            while (!printed.keySet().containsAll(keys) && !hasEnded && remaining > 0) {
                waitFor(remaining);
                remaining = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            }
            isStarted = printed.keySet().containsAll(keys);
            reason = hasEnded ? " ended" : " printed no address for " + timeout;
        }
        if (!isStarted) {
            close();
            throw new MockKafkaException("the cluster did not start: " + String.join(" ", command) + reason
                    + ". Its standard error:\n" + String.join("\n", logLines()), null);
        }
        return printed;
    }

    private void waitFor(long remaining) {
        try {
            printed.wait(remaining);
        } catch (InterruptedException error) {
            close();
            Thread.currentThread().interrupt();
            throw new MockKafkaException("the start of the cluster was interrupted", error);
        }
    }

    long pid() {
        return process.pid();
    }

    List<String> logLines() {
        synchronized (log) {
            return new ArrayList<>(log);
        }
    }

    /** Close standard input, which ends the process also behind a wrapper; kill it after a while. */
    @Override
    public void close() {
        try {
            process.getOutputStream().close();
            if (!process.waitFor(END_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
                process.destroyForcibly().waitFor();
            }
            errors.join(END_TIMEOUT.toMillis());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (InterruptedException error) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    private Thread read(InputStream stream, Consumer<String> consumer, Runnable atEnd) {
        Thread reader = new Thread(() -> {
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                lines.lines().forEach(consumer);
            } catch (IOException | UncheckedIOException error) {
                noteLog("the output of the cluster ended: " + error);
            }
            atEnd.run();
        }, "mock-kafka-reader");
        reader.setDaemon(true);
        reader.start();
        return reader;
    }

    private void notePrinted(String line) {
        String[] parts = line.split("=", 2);
        synchronized (printed) {
            printed.put(parts[0], parts.length == 2 ? parts[1] : "");
            printed.notifyAll();
        }
    }

    private void noteEnd() {
        synchronized (printed) {
            hasEnded = true;
            printed.notifyAll();
        }
    }

    private void noteLog(String line) {
        synchronized (log) {
            log.add(line);
            if (log.size() > LOG_LINES_MAX) {
                log.remove();
            }
        }
    }
}
