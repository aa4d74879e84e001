"""The arguments of `send_offsets_to_transaction`, named as in Kafka's clients."""

from typing import NamedTuple


class OffsetAndMetadata(NamedTuple):
    """The offset of the next record to consume."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class ConsumerGroupMetadata(NamedTuple):
    """The consumer whose offsets are committed; the broker checks its member id and generation.

    With only a group id nothing is checked.
    """

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
