package io.mockkafka;

import io.mockkafka.admin.Api;
import io.mockkafka.admin.FaultRule;
import io.mockkafka.admin.FaultView;

/** A fault rule of a running cluster. */
public final class Fault {
    private final ClusterMethods kafka;
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

    /** Ask the cluster whether the rule can never fire again. */
    public boolean isUsedUp() {
        return now().isUsedUp();
    }

    /** Remove the rule; responses that it delays stay delayed. */
    public void remove() {
        kafka.admin().removeFault(id());
    }

    @Override
    public String toString() {
        return "fault " + id() + ": " + rule();
    }

    private FaultView now() {
        return kafka.admin().listFaults().stream()
                .filter(fault -> fault.id() == id())
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(this + " was removed, or the cluster was reset"));
    }
}
