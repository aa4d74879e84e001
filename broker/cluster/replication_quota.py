"""What is copied to new replicas at a limited rate, and what each broker has copied too fast.

Source: KIP-73 and Kafka's `ReplicationQuotaManager`. Kafka measures a rate in a window: a fetch is
allowed while the rate is within the quota, and may exceed it. Here a fetch is allowed while nothing
is owed, and its bytes are owed then.
"""

from dataclasses import dataclass

from broker.cluster.topics import Partition

PartitionKey = tuple[str, int]
"""Topic name and partition index."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A rate in bytes per second of a broker, as the leader or as a follower, and its key."""

    rate_key: str
    broker_id: int
    bytes_per_s: int


@dataclass(slots=True, eq=False)
class Copy:
    """A partition that is moved, and the bytes that each new replica lacks."""

    partition: Partition
    missing_bytes: dict[int, int]


class ReplicationQuota:
    """The copies of a cluster that are not complete, and what brokers owe."""

    __slots__ = ("_owed", "copies", "is_held", "is_waiting")

    def __init__(self) -> None:
        self.copies: dict[PartitionKey, Copy] = {}
        self.is_held = False
        """Whether no copy becomes complete: it is another cluster that says when one is."""
        self.is_waiting = False
        """Whether a timer goes on with the copies."""
        self._owed: dict[tuple[str, int], tuple[float, int]] = {}
        """Bytes and the time in ms, by key of the rate and broker id."""

    def owes(self, limit: Limit, now_ms: int) -> bool:
        """Return whether a broker has copied more than its rate allows by now."""
        owed_bytes, at_ms = self._owed.get((limit.rate_key, limit.broker_id), (0.0, now_ms))
        owed_bytes = max(0.0, owed_bytes - limit.bytes_per_s * (now_ms - at_ms) / 1000)
        self._owed[limit.rate_key, limit.broker_id] = owed_bytes, now_ms
        return owed_bytes > 0

    def charge(self, limit: Limit, byte_count: int) -> None:
        """Note bytes that are copied now, after `owes`."""
        owed_bytes, at_ms = self._owed[limit.rate_key, limit.broker_id]
        self._owed[limit.rate_key, limit.broker_id] = owed_bytes + byte_count, at_ms
