"""Heartbeats of members of streams groups and their results, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from broker.groups.streams.configured_topology import ConfiguredTopic
from broker.groups.streams.member import Endpoint
from broker.groups.streams.statuses import Status
from broker.groups.streams.tasks import TargetTasks, Tasks
from broker.groups.streams.topology import Topology


class TaskOffset(NamedTuple):
    """The sum of the offsets of a task's changelogs."""

    subtopology_id: str
    partition_index: int
    offset: int


@dataclass(frozen=True, slots=True)
class StreamsHeartbeat:
    """One StreamsGroupHeartbeat; a field of None, or a timeout of -1, is as it was before.

    A `member_epoch` of 0 joins, `LEAVE_EPOCH` and `STATIC_LEAVE_EPOCH` leave. `active`, `standby`
    and `warmup` are the tasks that the member says it has.
    """

    group_id: str
    member_id: str
    member_epoch: int
    endpoint_epoch: int = 0
    group_instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    active: Tasks | None = None
    standby: Tasks | None = None
    warmup: Tasks | None = None
    process_id: str | None = None
    user_endpoint: Endpoint | None = None
    client_tags: Mapping[str, str] | None = None
    task_offsets: Sequence[TaskOffset] | None = None
    task_end_offsets: Sequence[TaskOffset] | None = None
    shutdown_application: bool = False
    client_id: str = ""
    client_host: str = ""
    api_version: int = 1

    @property
    def owned(self) -> TargetTasks | None:
        """What the member says that it has, without warm-up tasks; None if it says nothing."""
        if self.active is None or self.standby is None or self.warmup is None:
            return None
        return TargetTasks(self.active, self.standby)


class EndpointPartitions(NamedTuple):
    """What can be asked at the endpoint of a member: partition indexes by topic name."""

    endpoint: Endpoint
    active: Mapping[str, Sequence[int]]
    standby: Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class StreamsHeartbeatResult:
    """The result of a heartbeat; tasks and endpoints are None if the member knows them already.

    `missing_topics` are internal topics by name, which the broker has to create.
    """

    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    task_offset_interval_ms: int = 0
    acceptable_recovery_lag: int = -1
    statuses: tuple[Status, ...] = ()
    tasks: TargetTasks | None = None
    endpoint_epoch: int = 0
    endpoints: tuple[EndpointPartitions, ...] | None = None
    missing_topics: Mapping[str, ConfiguredTopic] | None = None
    needs_description: bool = False
    """Whether the member shall describe its topology."""
