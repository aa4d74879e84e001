"""What the configuration of a share group and the release of its brokers say about deliveries.

Sources: Kafka's `ShareGroupConfigProvider`, and `SharePartition` of 4.1 and 4.4.
"""

from collections.abc import Callable
from dataclasses import dataclass

from broker.share_groups.in_flight import RecordState


@dataclass(frozen=True, slots=True)
class ShareRules:
    """The rules of one group, which may change while a leader has a share partition.

    `record_locks_max` and `delivery_count_max` are Kafka's `share.partition.max.record.locks` and
    `share.delivery.count.limit`. `isolates_bad_records` is True since Kafka 4.2: records that were
    delivered often come in small numbers, the number of locks is a hard limit, and the end of a
    session counts as a delivery. `can_renew` is `share.renew.acknowledge.enable`. With
    `has_dead_letter_queue` records that are delivered no more go there before they are archived.
    """

    record_locks_max: int
    delivery_count_max: int
    isolates_bad_records: bool = False
    can_renew: bool = True
    has_dead_letter_queue: bool = False

    @property
    def dead_state(self) -> RecordState:
        """The state of records that are delivered no more."""
        return RecordState.ARCHIVING if self.has_dead_letter_queue else RecordState.ARCHIVED

    @property
    def isolation_count_min(self) -> int:
        """Deliveries from which on a record counts as bad."""
        return max(2, (self.delivery_count_max + 1) // 2)

    def is_bad(self, delivery_count: int) -> bool:
        """Return whether a record was delivered so often that it may be bad."""
        return self.isolates_bad_records and delivery_count >= self.isolation_count_min

    def is_delivered_alone(self, delivery_count: int) -> bool:
        """Return whether a delivery is the last one, which has no other record."""
        return self.isolates_bad_records and delivery_count == self.delivery_count_max > 2


GetShareRules = Callable[[], ShareRules]
"""Returns the rules that hold now."""
