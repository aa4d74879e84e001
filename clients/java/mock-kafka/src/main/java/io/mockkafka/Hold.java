package io.mockkafka;

import io.mockkafka.admin.FaultView;
import io.mockkafka.admin.ReleaseBody;
import io.mockkafka.admin.WaitForFaultQuery;
import java.time.Duration;

/** A rule that holds requests until they are released; {@link #close} releases all. */
public final class Hold extends Fault implements AutoCloseable {
    Hold(ClusterMethods kafka, FaultView added) {
        super(kafka, added);
    }

    /** Ask the cluster how many requests the rule holds. */
    public long heldCount() {
        return now().held();
    }

    /**
     * Wait until the rule holds {@code count} requests at the same time.
     *
     * @throws AssertionError it does not for this long
     */
    @Override
    public void await(int count, Duration timeout) {
        await(new WaitForFaultQuery().held(count), timeout);
    }

    /**
     * Have all requests go on; the rule holds no others. What they do has happened when this returns,
     * and their responses are sent.
     */
    public void release() {
        kafka.admin().releaseHeld(id(), new ReleaseBody());
    }

    /** Have the oldest {@code count} requests go on. */
    public void release(int count) {
        kafka.admin().releaseHeld(id(), new ReleaseBody().count(count));
    }

    @Override
    public void close() {
        release();
    }
}
