package io.mockkafka;

import io.mockkafka.admin.Api;
import io.mockkafka.admin.FaultRule;
import io.mockkafka.admin.FaultView;
import io.mockkafka.admin.WaitForFaultQuery;
import java.time.Duration;

/** A fault rule of a running cluster. */
public class Fault {
    final ClusterMethods kafka;
    private final FaultView added;

    Fault(ClusterMethods kafka, FaultView added) {
        this.kafka = kafka;
        this.added = added;
    }

    /**
     * Return a rule for requests of an API, for the methods of a cluster. Its setters say which of
     * these requests, and how often: {@code Fault.on(Api.PRODUCE).topic("orders").times(2)}.
     */
    public static FaultRule on(Api api) {
        return new FaultRule().api(api);
    }

    /** Return the number of the rule. */
    public long id() {
        return added.id();
    }

    /** Return the fields of the rule. */
    public FaultRule rule() {
        return added.rule();
    }

    /** Ask the cluster on how many requests the rule has fired. */
    public long count() {
        return now().fired();
    }

    /** Ask the cluster how many requests matched, whether the rule fired or not. */
    public long matchCount() {
        return now().matched();
    }

    /** Ask the cluster whether the rule can match the next request: not before the rule in {@code after} has fired. */
    public boolean isArmed() {
        return now().isArmed();
    }

    /** Ask the cluster whether the rule can never fire again. */
    public boolean isUsedUp() {
        return now().isUsedUp();
    }

    /** Wait until the rule has fired on {@code count} requests, for 10 s. */
    public void await(int count) {
        await(count, ClusterMethods.WAIT);
    }

    /**
     * Wait until the rule has fired on {@code count} requests.
     *
     * @throws AssertionError it has not for this long; the message has the nearest requests
     */
    public void await(int count, Duration timeout) {
        await(new WaitForFaultQuery().fired(count), timeout);
    }

    final void await(WaitForFaultQuery query, Duration timeout) {
        query.timeoutMs(ClusterMethods.millis(timeout));
        ClusterMethods.waited(() -> kafka.admin().waitForFault(id(), query));
    }

    /** Remove the rule; responses that it delays stay delayed, requests that it holds go on. */
    public void remove() {
        kafka.admin().removeFault(id());
    }

    @Override
    public String toString() {
        return "rule " + id() + ": " + rule();
    }

    final FaultView now() {
        return kafka.admin().listFaults().stream()
                .filter(fault -> fault.id() == id())
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(this + " was removed, or the cluster was reset"));
    }
}
