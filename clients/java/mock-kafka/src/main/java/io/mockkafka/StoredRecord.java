package io.mockkafka;

import io.mockkafka.admin.BytesView;
import io.mockkafka.admin.RecordView;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A record in the log of a partition. */
public final class StoredRecord {
    private final String topic;
    private final RecordView view;

    StoredRecord(String topic, RecordView view) {
        this.topic = topic;
        this.view = view;
    }

    /** Return the name of the topic. */
    public String topic() {
        return topic;
    }

    /** Return the number of the partition. */
    public int partition() {
        return view.partition();
    }

    /** Return the offset. */
    public long offset() {
        return view.offset();
    }

    /** Return the timestamp. */
    public Instant timestamp() {
        return Instant.ofEpochMilli(view.timestamp());
    }

    /** Return the key as text in UTF-8, or null. */
    public String key() {
        return text(keyBytes());
    }

    /** Return the bytes of the key, or null. */
    public byte[] keyBytes() {
        return bytes(view.key());
    }

    /** Return the value as text in UTF-8, or null. */
    public String value() {
        return text(valueBytes());
    }

    /** Return the bytes of the value, or null. */
    public byte[] valueBytes() {
        return bytes(view.value());
    }

    /** Return the headers in their order; a value may be null. */
    public List<Map.Entry<String, byte[]>> headers() {
        return view.headers().stream()
                .map(header -> new SimpleImmutableEntry<>(header.key(), bytes(header.value())))
                .collect(Collectors.toUnmodifiableList());
    }

    /** Return the state of its transaction: open, committed or aborted; null if it was in none. */
    public String transaction() {
        return view.transaction();
    }

    @Override
    public String toString() {
        return topic + "-" + partition() + "@" + offset() + ": " + key() + "=" + value();
    }

    private static byte[] bytes(BytesView view) {
        return view == null ? null : Base64.getDecoder().decode(view.base64());
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }
}
