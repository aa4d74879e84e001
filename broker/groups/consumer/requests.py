"""Heartbeats of members and their results, as plain values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from broker.groups.consumer.assignment import Assignment
from broker.groups.consumer.group_state import ConsumerGroupState
from broker.groups.consumer.member import ConsumerMember
from protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class ConsumerHeartbeat:
    """One ConsumerGroupHeartbeat; a field of None, or a timeout of -1, is as it was before.

    A `member_epoch` of 0 joins, `LEAVE_EPOCH` and `STATIC_LEAVE_EPOCH` leave. `must_have_id` is
    true in versions whose members choose their id (v1+). `may_describe` says which topics its
    expression may match; None for all of them.
    """

    group_id: str
    member_id: str
    member_epoch: int
    group_instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: Sequence[str] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    owned_partitions: Assignment | None = None
    client_id: str = ""
    client_host: str = ""
    must_have_id: bool = True
    may_describe: Callable[[str], bool] | None = None

    @property
    def is_full(self) -> bool:
        """Whether it has everything that a member sends when it joins, or after an error."""
        return (
            self.rebalance_timeout_ms != -1
            and (self.subscribed_topic_names is not None or self.subscribed_topic_regex is not None)
            and self.owned_partitions is not None
        )


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    """The result of a heartbeat; `assignment` is None if the member knows it already."""

    error_code: ErrorCode
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None


@dataclass(frozen=True, slots=True)
class ConsumerGroupDescription:
    """A group as ConsumerGroupDescribe shows it: its members, each with its target."""

    group_id: str
    state: ConsumerGroupState
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    members: tuple[tuple[ConsumerMember, Assignment], ...]
    is_assigned_manually: bool = False
