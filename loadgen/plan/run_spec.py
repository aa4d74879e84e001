"""What every worker of a run gets: the plan, the topology of the cluster and the driver."""

from dataclasses import dataclass, field
from itertools import accumulate
from uuid import UUID

from client.resources import Address
from loadgen.plan.plan import Plan, Tenant


@dataclass(slots=True)
class Topology:
    """Addresses of the brokers and leaders of the partitions; clients update it."""

    brokers: dict[int, Address]
    controller_id: int
    leaders: dict[str, list[int]]
    """The leader of each partition, by topic."""
    topic_ids: dict[str, UUID] = field(default_factory=dict)
    start_offsets: dict[str, dict[int, int]] = field(default_factory=dict)
    """The end offset of each partition before the run, by topic."""

    def controller(self) -> int:
        """Return the node for requests to the controller; any node if there is no controller."""
        return self.controller_id if self.controller_id in self.brokers else min(self.brokers)


@dataclass(frozen=True, slots=True)
class PreparedTarget:
    """The target of a run after its preparation."""

    topology: Topology
    config: dict[str, float]
    """The broker configuration that the checks depend on."""
    unknown_quotas: list[str] = field(default_factory=list)
    """Quota keys that the target does not support."""
    is_shadow: bool = False
    """Whether the target enforces no quota."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """The pickled argument of the workers."""

    run_id: str
    plan: Plan
    topology: Topology
    workers: int = 1
    progress_address: tuple[str, int] | None = None
    """The address of the driver's `ProgressListener`."""
    clock_address: tuple[str, int] | None = None
    """The address of the driver's `ClockServer`."""
    meeting_address: tuple[str, int] | None = None
    """The address of the driver's `MeetingPlace`; None where workers meet at Spark's barrier."""
    segment_s: float = 2.0
    """How much time a worker collects rows for before it writes them."""
    lead_s: float = 1.5
    """Time from the last worker's readiness to time zero: tasks leave Spark's barrier up to a
    second apart."""

    def folder(self, record: str) -> tuple[str, str]:
        """Return the folder of a record, such as `results`, in the storage of the run."""
        return record, f"run={self.run_id}"

    def tenant_of_clients(self) -> list[int]:
        """Return the index of each client's tenant; clients are counted over all tenants."""
        return [
            index for index, tenant in enumerate(self.plan.tenants) for _ in range(tenant.clients)
        ]

    def ordinal(self, client: int) -> int:
        """Return the number of a client within its tenant."""
        ends = list(accumulate(tenant.clients for tenant in self.plan.tenants))
        return client - max((end for end in ends if end <= client), default=0)

    def topic_name(self, tenant: Tenant, event_id: int, index: int) -> str:
        """Return the name of a topic that an event creates, expands or deletes; runs differ."""
        return f"{self.run_id}.{tenant.name}.{event_id}.{index}"


STOPPED_BY_USER = "stopped by the user"
"""The reason of a worker that the driver stopped."""


@dataclass(slots=True)
class Counts:
    """The counts of a worker for its progress reports."""

    events_done: int = 0
    requests: int = 0
    errors: int = 0
    throttled: int = 0
    lateness_us: int = 0
    """The maximum since the last report."""
    reasons: list[str] = field(default_factory=list)
    """Why the run was aborted; empty if it was not."""
