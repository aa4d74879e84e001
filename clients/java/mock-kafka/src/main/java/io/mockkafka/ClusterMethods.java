package io.mockkafka;

import com.fasterxml.jackson.core.type.TypeReference;
import io.mockkafka.admin.AdminApi;
import io.mockkafka.admin.AdvanceBody;
import io.mockkafka.admin.Api;
import io.mockkafka.admin.ClockBody;
import io.mockkafka.admin.CoordinatorBody;
import io.mockkafka.admin.ErrorCode;
import io.mockkafka.admin.FaultRule;
import io.mockkafka.admin.FaultView;
import io.mockkafka.admin.GetRecordsQuery;
import io.mockkafka.admin.GroupOffsetView;
import io.mockkafka.admin.GroupView;
import io.mockkafka.admin.LeaderBody;
import io.mockkafka.admin.ListRequestsQuery;
import io.mockkafka.admin.NewTopicBody;
import io.mockkafka.admin.ProducedView;
import io.mockkafka.admin.QuotaBody;
import io.mockkafka.admin.RecordBody;
import io.mockkafka.admin.RecordView;
import io.mockkafka.admin.RecordsBody;
import io.mockkafka.admin.RecordsView;
import io.mockkafka.admin.RequestView;
import io.mockkafka.admin.ResetBody;
import io.mockkafka.admin.Snapshot;
import io.mockkafka.admin.StartBody;
import io.mockkafka.admin.StopBody;
import io.mockkafka.admin.TopicView;
import io.mockkafka.admin.TransactionView;
import io.mockkafka.admin.WaitForRecordsQuery;
import io.mockkafka.admin.WaitForRequestQuery;
import io.mockkafka.admin.WaitForStableGroupQuery;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;

/**
 * The methods of a running cluster. Each is one request to its admin port, and returns when its
 * effect is visible. All throw {@link MockKafkaException} with the reason if the cluster refuses it.
 *
 * <p>Methods for faults add a rule. It names the requests ({@link Fault#on}), the method what happens.
 */
public abstract class ClusterMethods {
    static final Duration WAIT = Duration.ofSeconds(10);
    private static final int RECORDS_PER_RESPONSE = 10_000;
    private static final int WAITED_TOO_LONG = 408;

    /** For the clusters of this package. */
    ClusterMethods() {}

    /** Return the admin port of the running cluster. */
    abstract AdminPort port();

    /** Return {@code HOST:PORT} of every broker, comma-separated. */
    public abstract String bootstrapServers();

    /** Return the settings with which a client of Kafka connects: {@code bootstrap.servers}, TLS and SASL. */
    public abstract Map<String, Object> clientProperties();

    /** Return the URL of the admin port. */
    public String adminUrl() {
        return port().url();
    }

    /** Return all operations of the admin port, for what has no method here. */
    public AdminApi admin() {
        return new AdminApi(port());
    }

    // Faults -------------------------------------------------------------------------------------

    /** Return an error for everything that the requests name; they are not handled. */
    public Fault fail(FaultRule when, ErrorCode error) {
        return addFault(copy(when).error(error));
    }

    /** Set fields of the response, by the names of Kafka's schemas; all others keep their values. */
    public Fault respond(FaultRule when, Map<String, Object> response) {
        return addFault(copy(when).response(response));
    }

    /** Delay the response; the request is handled at once. */
    public Fault delay(FaultRule when, Duration delay) {
        return addFault(copy(when).delayMs(delay.toMillis()));
    }

    /** Close the connection instead of handling the request. */
    public Fault dropRequest(FaultRule when) {
        return addFault(copy(when).drop(FaultRule.Drop.BEFORE_HANDLING));
    }

    /**
     * Handle the request, and close the connection instead of sending the response. With
     * {@code dropAfterBytes} this many bytes of the response are sent first.
     */
    public Fault dropResponse(FaultRule when) {
        boolean isCut = when.dropAfterBytes() != null;
        return addFault(copy(when).drop(isCut ? FaultRule.Drop.WITHIN_RESPONSE : FaultRule.Drop.BEFORE_RESPONSE));
    }

    /** Handle the request, but never respond; with {@code hang(BEFORE_HANDLING)} do not handle it. */
    public Fault hang(FaultRule when) {
        return addFault(when.hang() == null ? copy(when).hang(FaultRule.Hang.BEFORE_RESPONSE) : when);
    }

    /**
     * Hold requests until {@link Hold#release}, while others go on; no clock releases them. With
     * {@code hold(BEFORE_RESPONSE)} they are handled first.
     */
    public Hold hold(FaultRule when) {
        FaultRule rule = when.hold() == null ? copy(when).hold(FaultRule.Hold.BEFORE_HANDLING) : when;
        return (Hold) addFault(rule);
    }

    /** Return a throttle time, and mute the connection for it. */
    public Fault throttle(FaultRule when, Duration throttleTime) {
        return addFault(copy(when).throttleTimeMs(millis(throttleTime)));
    }

    /** Add a rule with any of the fields of a rule. */
    public Fault addFault(FaultRule rule) {
        return fault(AdminPort.copy(admin().addFaults(rule), FaultView.class));
    }

    /** Return all rules in the order of their evaluation, including those that are used up. */
    public List<Fault> faults() {
        return admin().listFaults().stream().map(this::fault).collect(Collectors.toList());
    }

    private Fault fault(FaultView view) {
        return view.rule().hold() == null ? new Fault(this, view) : new Hold(this, view);
    }

    /** Remove all rules; responses that they delay stay delayed, requests that they hold go on. */
    public void clearFaults() {
        admin().clearFaults();
    }

    static int millis(Duration duration) {
        return Math.toIntExact(duration.toMillis());
    }

    private static FaultRule copy(FaultRule when) {
        return AdminPort.copy(when, FaultRule.class);
    }

    // Time ---------------------------------------------------------------------------------------

    /**
     * Move the clock forward, and return its time. What becomes due happens before this returns:
     * members of groups time out, records expire, delayed responses are sent.
     */
    public Instant advance(Duration duration) {
        return Instant.ofEpochMilli(admin().advanceClock(new AdvanceBody().ms(duration.toMillis())).nowMs());
    }

    /** Return the time of the cluster. */
    public Instant now() {
        return Instant.ofEpochMilli(admin().getClock().nowMs());
    }

    /** Run the clock in real time, let it stand, or run it {@code factor} times as fast. */
    public void setClock(ClockBody clock) {
        admin().putClock(clock);
    }

    // Topics and records -------------------------------------------------------------------------

    /** Create a topic with this number of partitions. */
    public TopicView createTopic(String name, int partitions) {
        return createTopic(new NewTopicBody().name(name).partitions(partitions));
    }

    /** Create a topic, by default with the counts of the cluster's configuration. */
    public TopicView createTopic(NewTopicBody topic) {
        return admin().createTopic(topic);
    }

    /** Return all topics but internal ones, with their partitions, leaders and offsets. */
    public List<TopicView> topics() {
        return admin().listTopics().stream().filter(topic -> !topic.isInternal()).collect(Collectors.toList());
    }

    /** Store a record for each value, as a producer with acks=all does. */
    public List<ProducedView> produce(String topic, String... values) {
        return produce(topic, Arrays.stream(values).map(value -> new RecordBody().value(value)).collect(Collectors.toList()));
    }

    /** Store records, as a producer with acks=all does. No quota is charged, and no rule fires. */
    public List<ProducedView> produce(String topic, List<RecordBody> records) {
        return admin().produceRecords(topic, new RecordsBody().records(records));
    }

    /** Return the records of a topic, by partition and offset. */
    public List<StoredRecord> records(String topic) {
        return records(topic, new GetRecordsQuery());
    }

    /** Return the records of a topic that the query selects, by partition and offset. */
    public List<StoredRecord> records(String topic, GetRecordsQuery query) {
        Deque<Map<String, Object>> remaining = new ArrayDeque<>();
        remaining.add(query.limit(RECORDS_PER_RESPONSE).encoding(GetRecordsQuery.Encoding.BASE64).parameters());
        List<RecordView> found = new ArrayList<>();
        while (!remaining.isEmpty()) {
            Map<String, Object> parameters = remaining.remove();
            String path = "/v1/topics/" + AdminPort.encoded(topic) + "/records";
            RecordsView page = port().ask("GET", path, parameters, null, new TypeReference<RecordsView>() {});
            found.addAll(page.records());
            page.nextOffsets().forEach((partition, offset) -> {
                Map<String, Object> next = new HashMap<>(parameters);
                next.put("partition", partition);
                next.put("offset", offset);
                remaining.add(next);
            });
        }
        return found.stream()
                .sorted(Comparator.comparingInt(RecordView::partition).thenComparingLong(RecordView::offset))
                .map(record -> new StoredRecord(topic, record))
                .collect(Collectors.toList());
    }

    /** Return all records of a topic as soon as there are at least {@code count}; wait for 10 s. */
    public List<StoredRecord> waitForRecords(String topic, int count) {
        return waitForRecords(topic, count, WAIT);
    }

    /**
     * Return all records of a topic as soon as there are at least {@code count}.
     *
     * @throws AssertionError there were fewer for this long; the message has their number
     */
    public List<StoredRecord> waitForRecords(String topic, int count, Duration timeout) {
        WaitForRecordsQuery query = new WaitForRecordsQuery().count(count).limit(1);
        waited(() -> admin().waitForRecords(topic, query.timeoutMs(millis(timeout))));
        return records(topic);
    }

    /** Return what an operation waits for, or throw an AssertionError that says what there is instead. */
    static <T> T waited(Supplier<T> operation) {
        try {
            return operation.get();
        } catch (MockKafkaException error) {
            if (error.status() == WAITED_TOO_LONG) {
                throw new AssertionError(error.getMessage());
            }
            throw error;
        }
    }

    // Requests -----------------------------------------------------------------------------------

    /** Return the last 100 requests of an API, newest last. */
    public List<RequestView> requests(Api api) {
        return requests(new ListRequestsQuery().api(api));
    }

    /** Return the last requests that the query selects, newest last. */
    public List<RequestView> requests(ListRequestsQuery query) {
        return admin().listRequests(query);
    }

    /** Return the next or last request of an API; wait for it for 10 s. */
    public RequestView waitForRequest(Api api) {
        return waitForRequest(new WaitForRequestQuery().api(api), WAIT);
    }

    /**
     * Return the first request that the query selects, as soon as there is one.
     *
     * @throws AssertionError there was none for this long; the message has the nearest requests
     */
    public RequestView waitForRequest(WaitForRequestQuery query, Duration timeout) {
        return waited(() -> admin().waitForRequest(query.timeoutMs(millis(timeout))));
    }

    /** Return the last requests as text, one per line, newest last. */
    String lastRequests(int count) {
        return requests(new ListRequestsQuery().limit(count).bodies(false)).stream()
                .map(ClusterMethods::line)
                .collect(Collectors.joining("\n"));
    }

    private static String line(RequestView request) {
        boolean isRequest = request.api() != null;
        List<String> words = new ArrayList<>(List.of("#" + request.number(), "broker " + request.broker(),
                isRequest ? request.clientId() + "" : request.clientHost() + "",
                isRequest ? request.api() + " v" + request.version() : request.kind()));
        words.addAll(request.topics());
        words.addAll(request.groups());
        words.addAll(request.transactionalIds());
        String outcome = request.closeReason() == null ? request.outcome() : request.closeReason();
        words.add("->");
        words.add(outcome == null ? request.reason() : outcome);
        words.addAll(request.errors());
        return String.join(" ", words) + (request.fault() == null ? "" : " [" + request.fault() + "]");
    }

    // Groups -------------------------------------------------------------------------------------

    /** Return all groups of every type with their members and offsets. */
    public List<GroupView> groups() {
        return admin().listGroups();
    }

    /** Return the committed offsets of a group. */
    public Map<TopicPartition, Long> committed(String group) {
        return byPartition(group, GroupOffsetView::offset);
    }

    /** Return how many offsets a group is behind the end of each partition. */
    public Map<TopicPartition, Long> lag(String group) {
        return byPartition(group, GroupOffsetView::lag);
    }

    private Map<TopicPartition, Long> byPartition(String group, Function<GroupOffsetView, Long> field) {
        Map<TopicPartition, Long> found = new HashMap<>();
        for (GroupOffsetView view : admin().listGroupOffsets(group)) {
            if (field.apply(view) != null) {
                found.put(new TopicPartition(view.topic(), view.partition()), field.apply(view));
            }
        }
        return found;
    }

    /** Return a group as soon as each of its members has its final assignment; wait for 10 s. */
    public GroupView waitForStable(String group, int members) {
        return waitForStable(group, members, WAIT);
    }

    /**
     * Return a group as soon as it has this number of members, and each has its final assignment.
     *
     * @throws AssertionError it was not stable for this long; the message has the group
     */
    public GroupView waitForStable(String group, int members, Duration timeout) {
        WaitForStableGroupQuery query = new WaitForStableGroupQuery().members(members);
        GroupView found = admin().waitForStableGroup(group, query.timeoutMs(millis(timeout)));
        if (found == null) {
            throw new AssertionError("group " + group + " was not stable with " + members + " members in " + timeout
                    + "; the groups: " + groups());
        }
        return found;
    }

    // Brokers ------------------------------------------------------------------------------------

    /** Close the connections of a broker and refuse new ones; its leaders move. */
    public void stopBroker(int broker) {
        admin().stopBroker(broker, new StopBody());
    }

    /** Start a broker that was stopped, isolated or fenced. */
    public void startBroker(int broker) {
        admin().startBroker(broker, new StartBody());
    }

    /** Make a broker the leader of a partition; null leaves it without a leader. */
    public void moveLeader(String topic, int partition, Integer broker) {
        admin().putLeader(topic, partition, new LeaderBody().broker(broker));
    }

    /** Make a broker the coordinator of a group or transactional id. */
    public void moveCoordinator(String group, int broker) {
        admin().putCoordinator(group, new CoordinatorBody().broker(broker));
    }

    // Quotas, transactions, audit, snapshots -----------------------------------------------------

    /** Set quotas, such as {@code quota(Map.of("client-id", "billing"), Map.of("producer_byte_rate", 1e6))}. */
    public void quota(Map<String, String> entity, Map<String, Double> values) {
        admin().putQuotas(new QuotaBody().entity(entity).values(values));
    }

    /** Return all transactional ids with the state, producer and partitions of each. */
    public List<TransactionView> transactions() {
        return admin().listTransactions();
    }

    /** Compare the acknowledgements since the start or reset with the logs; see {@link MockKafkaOptions#audit}. */
    public Audit audit() {
        return new Audit(admin().getAudit());
    }

    /** Return topics with their records, offsets, quotas, rules, users and access control lists. */
    public Snapshot snapshot() {
        return admin().getSnapshot();
    }

    /** Reset the cluster, and load a snapshot. */
    public void loadSnapshot(Snapshot snapshot) {
        admin().putSnapshot(snapshot);
    }

    /** Reset the cluster, and load the snapshot of a file. */
    public void loadSnapshot(Path file) {
        try {
            loadSnapshot(AdminPort.parse(Files.readString(file), Snapshot.class));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Restore the state after the start, and close all connections. It takes about a millisecond. */
    public void reset() {
        admin().reset(new ResetBody());
    }
}
