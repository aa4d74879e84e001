package io.mockkafka;

import io.mockkafka.admin.AuditView;
import io.mockkafka.admin.FindingView;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** What an audit has found: acknowledged batches that are missing, stored twice or out of order. */
public final class Audit {
    private final AuditView view;

    Audit(AuditView view) {
        this.view = view;
    }

    /** Return the first 1,000 findings. */
    public List<FindingView> findings() {
        return view.findings();
    }

    /** Return all of the report. */
    public AuditView view() {
        return view;
    }

    /**
     * Fail if there are findings.
     *
     * @param exceptKinds kinds that the test expects, such as {@code lost_by_election}
     * @throws AssertionError there are others; the message is the report
     */
    public void assertClean(String... exceptKinds) {
        long expected = findings().stream().filter(finding -> Set.of(exceptKinds).contains(finding.kind())).count();
        if (view.findingCount() > expected) {
            throw new AssertionError(toString());
        }
    }

    @Override
    public String toString() {
        return "audit: " + view.findingCount() + " findings; acknowledgements: " + view.covered() + " covered, "
                + view.removed() + " removed from the log since, " + view.notCovered() + " not covered"
                + findings().stream().limit(20)
                        .map(finding -> "\n  " + finding.kind() + " " + finding.topic() + "-" + finding.partition()
                                + ": " + finding.detail())
                        .collect(Collectors.joining());
    }
}
