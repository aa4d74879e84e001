"""Make proposals for two users, of whom one is greedy."""

from collections.abc import Sequence

from loadgen.quota_trials.proposals import KeyResult, propose
from loadgen.quota_trials.traffic import Traffic
from tests.loadgen.quota_trials.made_traffic import produce, topics, traffic


def two_users() -> Traffic:
    """Return three minutes: alice sends 1,000 bytes/s, and bob bursts after a minute."""
    rows = [produce(second * 1000, 1000, producer_id=1) for second in range(181)]
    rows += [produce(60_000 + number, 5000, client=1, producer_id=2) for number in range(100)]
    rows += [topics(90_000, 5, 5, 5, client=1)]
    return traffic(sorted(rows, key=lambda row: int(row["time_ms"])))


def results(protected: Sequence[int] = (0,)) -> dict[str, KeyResult]:
    """Return the proposals that protect alice."""
    return propose(two_users(), protected, "user", 0.2)
