"""Put several plans together: their tenants send at the same time."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from loadgen.plan.faults import merged_faults
from loadgen.plan.plan import RECORDS, Plan, Quota, Target, Tenant, Topic
from loadgen.plan.yaml_reader import PlanError

K = TypeVar("K")
V = TypeVar("V")


def merged(plans: Sequence[Plan]) -> Plan:
    """Return one plan with the tenants of all; a tenant whose name is taken gets its plan's too.

    It is as long as the longest plan; the tenants of shorter ones stop earlier. Other fields have
    the value that suits all of them. The first plan has the seed.

    Raises:
        PlanError: the plans contradict each other.
    """
    first, *others = plans
    if not others:
        return first
    duration_s = max(plan.duration_s for plan in plans)
    warm_up_s = max(plan.warm_up_s for plan in plans)
    tenants: list[Tenant] = []
    for plan in plans:
        names = {tenant.name for tenant in tenants}
        for tenant in plan.tenants:
            start_s, stop_s = tenant.start_s, tenant.stop_s
            if start_s is None and plan.warm_up_s == 0 < warm_up_s:
                start_s = 0.0
            if stop_s is None and plan.duration_s < duration_s:
                stop_s = plan.duration_s
            name = tenant.name if tenant.name not in names else f"{plan.name}-{tenant.name}"
            names.add(name)
            tenants.append(replace(tenant, name=name, start_s=start_s, stop_s=stop_s))
    if len({tenant.name for tenant in tenants}) < len(tenants):
        raise PlanError("the same plan is given twice")
    _check_users(tenants)
    return replace(
        first,
        name="-with-".join(plan.name for plan in plans),
        duration_s=duration_s,
        warm_up_s=warm_up_s,
        drain_s=max(plan.drain_s for plan in plans),
        tenants=tuple(tenants),
        topics=_topics(plans),
        quotas=_quotas(plans),
        faults=merged_faults((plan.name, plan.faults) for plan in plans),
        target=_target(plans),
        read_back=any(plan.read_back for plan in plans),
        record=tuple(record for record in RECORDS if any(record in plan.record for plan in plans)),
        lateness_p99_ms=min(plan.lateness_p99_ms for plan in plans),
        abort_behind_s=max(plan.abort_behind_s for plan in plans),
        abort_unreachable_s=max(plan.abort_unreachable_s for plan in plans),
        text="\n".join(f"# {plan.name}\n{plan.text.rstrip()}\n" for plan in plans),
    )


def _check_users(tenants: Sequence[Tenant]) -> None:
    without = [tenant.name for tenant in tenants if tenant.user is None]
    if 0 < len(without) < len(tenants):
        raise PlanError(
            f"tenant {without[0]} has no user, and tenants of another plan have one: a cluster that"
            " is started for the run would refuse it"
        )
    passwords = {tenant.user: tenant.password for tenant in tenants}
    for tenant in tenants:
        if passwords[tenant.user] != tenant.password:
            raise PlanError(f"user {tenant.user} has two passwords")


def _topics(plans: Sequence[Plan]) -> tuple[Topic, ...]:
    """Return all topics; of the same topic with different partitions none is right.

    Raises:
        PlanError: two plans differ in a topic.
    """
    topics = ((topic.name, topic) for plan in plans for topic in plan.topics)
    return tuple(_same("topic", topics).values())


def _quotas(plans: Sequence[Plan]) -> tuple[Quota, ...]:
    quotas = (
        ((tuple(sorted(quota.entity.items())), quota.key), quota)
        for plan in plans
        for quota in plan.quotas
    )
    return tuple(_same("quota", quotas).values())


def _target(plans: Sequence[Plan]) -> Target:
    targets = [plan.target for plan in plans]
    servers = {target.bootstrap_servers for target in targets} - {None}
    if len(servers) > 1:
        raise PlanError(f"the plans have different targets: {', '.join(sorted(map(str, servers)))}")
    return Target(
        bootstrap_servers=next(iter(servers), None),
        security=_same("security", _items(target.security for target in targets)),
        brokers=max(target.brokers for target in targets),
        config=_same("config", _items(target.config for target in targets)),
    )


def _items(mappings: Iterable[Mapping[str, str]]) -> Iterable[tuple[str, str]]:
    return (item for mapping in mappings for item in mapping.items())


def _same(what: str, items: Iterable[tuple[K, V]]) -> dict[K, V]:
    """Return the items as a dict.

    Raises:
        PlanError: a key has two values.
    """
    found: dict[K, V] = {}
    for key, value in items:
        if found.setdefault(key, value) != value:
            raise PlanError(f"the plans differ in {what} {key!r}: {found[key]!r} and {value!r}")
    return found
