"""What a search raises: rate, clients, new producer ids or topic mutations of a plan."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.rates import RATE_MAX, scaled_rate
from loadgen.plan.yaml_reader import PlanError

CLIENTS_MAX = 100_000
"""Of one tenant, as in a plan file."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a plan; its value is the sum over the tenants that have it."""

    name: str
    unit: str
    of_tenant: Callable[[Tenant], float]
    """The value of a tenant in `unit`; 0 if the tenant does not have the dimension."""
    needs: str
    """Which tenants have it, for an error."""
    is_whole: bool = False

    def value(self, plan: Plan, tenants: Collection[str] = ()) -> float:
        """Return the value of a plan; `tenants` are the names of those that count, or all of them.

        Raises:
            PlanError: no tenant has the dimension, there is no tenant of such a name, or a tenant's
            rate changes in time.
        """
        unknown = set(tenants) - {tenant.name for tenant in plan.tenants}
        if unknown:
            names = ", ".join(tenant.name for tenant in plan.tenants)
            raise PlanError(f"--tenant {min(unknown)}: the tenants of {plan.name} are {names}")
        for tenant in plan.tenants:
            is_chosen = not tenants or tenant.name in tenants
            if is_chosen and not self.is_whole and not isinstance(tenant.rate, float | int):
                raise PlanError(
                    f"--vary {self.name}: the rate of tenant {tenant.name} changes in time; give it"
                    " one number, or choose other tenants with --tenant"
                )
        found = sum(self.of_tenant(tenant) for tenant in self._chosen(plan, tenants))
        if not found:
            raise PlanError(f"--vary {self.name}: {plan.name} has no tenant {self.needs}")
        return found

    def varied(self, plan: Plan, value: float, tenants: Collection[str] = ()) -> Plan:
        """Return the plan with about this value; the tenants keep their proportions."""
        factor = value / self.value(plan, tenants)
        chosen = {tenant.name for tenant in self._chosen(plan, tenants)}
        return replace(
            plan,
            tenants=tuple(
                self._scaled(tenant, factor) if tenant.name in chosen else tenant
                for tenant in plan.tenants
            ),
        )

    def highest(self, plan: Plan, tenants: Collection[str] = ()) -> float:
        """Return the largest value that a plan can have."""
        factors = [self._factor_max(plan, tenant) for tenant in self._chosen(plan, tenants)]
        return self.value(plan, tenants) * min(factors)

    def _chosen(self, plan: Plan, tenants: Collection[str]) -> list[Tenant]:
        return [
            tenant
            for tenant in plan.tenants
            if self.of_tenant(tenant) and (not tenants or tenant.name in tenants)
        ]

    def _scaled(self, tenant: Tenant, factor: float) -> Tenant:
        if self.is_whole:
            return replace(tenant, clients=max(1, round(tenant.clients * factor)))
        return replace(tenant, rate=scaled_rate(tenant.rate, factor))

    def _factor_max(self, plan: Plan, tenant: Tenant) -> float:
        if not self.is_whole:
            return RATE_MAX / _rate(tenant)
        partitions = [topic.partitions for topic in plan.topics if topic.name == tenant.source]
        return min([CLIENTS_MAX, *partitions]) / tenant.clients


def _rate(tenant: Tenant) -> float:
    """Return a constant rate; 0 of a closed loop, and where `value` refuses a rate that changes."""
    if tenant.arrival == "closed" or not isinstance(tenant.rate, float | int):
        return 0.0
    return tenant.rate


def new_ids_per_event(tenant: Tenant) -> float:
    """Return how many new producer ids an event of a tenant uses, without its first one."""
    if tenant.behaviour in {"restart-loop", "new-producer-per-batch"}:
        return 1.0
    if tenant.behaviour == "new-producer-per-error":
        return 1 / tenant.error_every
    if tenant.behaviour == "retries-lost-responses":
        return tenant.kinds.count("wraparound") / len(tenant.kinds)
    return 0.0


def mutations_per_event(tenant: Tenant) -> int:
    """Return how many partitions an event of a tenant creates, adds or deletes."""
    if not tenant.behaviour.startswith("topic-"):
        return 0
    return tenant.topics_per_request * tenant.partitions


DIMENSIONS: Mapping[str, Dimension] = {
    dimension.name: dimension
    for dimension in (
        Dimension("rate", "events/s", _rate, "with a rate: all of them are closed loops"),
        Dimension(
            "clients", "clients", lambda tenant: tenant.clients, "with clients", is_whole=True
        ),
        Dimension(
            "ids",
            "new producer ids/s",
            lambda tenant: _rate(tenant) * new_ids_per_event(tenant),
            "with a rate and a behaviour that uses new producer ids, such as restart-loop",
        ),
        Dimension(
            "mutations",
            "partitions/s",
            lambda tenant: _rate(tenant) * mutations_per_event(tenant),
            "with a rate and a behaviour that changes topics, such as topic-creator",
        ),
    )
}
