package io.mockkafka;

import io.mockkafka.admin.*;
import java.nio.file.Path;
import java.util.*;
import java.util.stream.*;

/**
 * The methods of a running cluster. Each returns when its effect is visible. All throw {@link MockKafkaException} with
 * the reason if the cluster refuses a request.
 *
 * <p>Methods for faults add a rule. It names the requests ({@link Fault#on}), the method what happens.
 */
public abstract class ClusterMethods extends PortMethods {
    private static final int RECORDS_PER_RESPONSE = 10_000;

    abstract MockKafka cluster();

    /** Return {@code HOST:PORT} of every broker, comma-separated. */
    public String bootstrapServers() {
        return (String) cluster().clientProperties.get("bootstrap.servers");
    }

    /** Return the settings with which a client of Kafka connects: {@code bootstrap.servers}, TLS and SASL. */
    public Map<String, Object> clientProperties() {
        return new LinkedHashMap<>(cluster().clientProperties);
    }

    /** Return the URL of the admin port. */
    public String adminUrl() {
        return cluster().port.url();
    }

    @Override
    public AdminApi admin() {
        return new AdminApi(cluster().port);
    }

    /** Store a record for each value, as a producer with acks=all does. */
    public List<ProducedView> produce(String topic, String... values) {
        return produce(topic, Stream.of(values).map(each -> new RecordBody().value(each)).collect(Collectors.toList()));
    }

    /** Return the records of a topic that the query selects, by partition and offset. */
    @Override
    public List<StoredRecord> records(String topic, GetRecordsQuery query) {
        List<StoredRecord> found = new ArrayList<>();
        Deque<GetRecordsQuery> remaining = new ArrayDeque<>(List.of(new GetRecordsQuery(query)));
        while (!remaining.isEmpty()) {
            GetRecordsQuery next = remaining.remove().limit(RECORDS_PER_RESPONSE);
            RecordsView page = admin().getRecords(topic, next.encoding(GetRecordsQuery.Encoding.BASE64));
            page.records().forEach(record -> found.add(new StoredRecord(topic, record)));
            page.nextOffsets().forEach((partition, offset) -> remaining.add(
                    new GetRecordsQuery(query).partition(Integer.valueOf(partition)).offset(offset)));
        }
        found.sort(Comparator.comparing(StoredRecord::partition).thenComparing(StoredRecord::offset));
        return found;
    }

    /** Reset the cluster, and load the snapshot of a file. */
    public void loadSnapshot(Path file) {
        loadSnapshot(AdminPort.read(file.toFile(), Snapshot.class));
    }
}
