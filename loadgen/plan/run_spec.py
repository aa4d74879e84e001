"""What every worker of a run is told: the plan, the cluster as it was found, and who listens."""

from dataclasses import dataclass, field
from itertools import accumulate
from uuid import UUID

from client.resources import Address
from loadgen.plan.plan import Plan, Tenant


@dataclass(slots=True)
class Topology:
    """Where the brokers are and who leads what; clients correct it when they learn better."""

    brokers: dict[int, Address]
    controller_id: int
    leaders: dict[str, list[int]]
    """Of each topic, the leader of each partition."""
    topic_ids: dict[str, UUID] = field(default_factory=dict)
    start_offsets: dict[str, dict[int, int]] = field(default_factory=dict)
    """Where each partition of a topic ended before the run."""

    def controller(self) -> int:
        """The node that topics are created at; any one when nobody is the controller."""
        return self.controller_id if self.controller_id in self.brokers else min(self.brokers)


@dataclass(frozen=True, slots=True)
class RunSpec:
    """The whole order to the workers; pickled."""

    run_id: str
    plan: Plan
    topology: Topology
    workers: int = 1
    progress_address: tuple[str, int] | None = None
    """Where datagrams about the progress go, and an order to stop comes from."""
    lead_s: float = 1.5
    """Time zero is so long behind the last worker's getting ready: barriers come out a second
    apart."""

    def tenant_of_clients(self) -> list[int]:
        """The index of each client's tenant, clients being counted through all tenants."""
        return [
            index for index, tenant in enumerate(self.plan.tenants) for _ in range(tenant.clients)
        ]

    def ordinal(self, client: int) -> int:
        """The number of a client within its tenant."""
        ends = list(accumulate(tenant.clients for tenant in self.plan.tenants))
        return client - max((end for end in ends if end <= client), default=0)

    def topic_name(self, tenant: Tenant, event_id: int, index: int) -> str:
        """A topic that an event creates, expands or deletes; another run has others."""
        return f"{self.run_id}.{tenant.name}.{event_id}.{index}"


STOPPED_BY_USER = "stopped by the user"
"""The reason that a worker gives when it was told to stop."""


@dataclass(slots=True)
class Counts:
    """What a worker has done so far, for the progress bar and for its own patience."""

    events_done: int = 0
    requests: int = 0
    errors: int = 0
    throttled: int = 0
    lateness_us: int = 0
    """The largest since the last report."""
    reasons: list[str] = field(default_factory=list)
    """Why the run was given up; empty while it wasn't."""
