"""Before a load: can everybody get in, are the topics there, are the quotas set, who leads what.

Everything that can be refused is asked for here, before Spark starts, so that a plan that can't
run ends within seconds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING

from client import clock
from client.addresses import addresses_of
from client.admin import Admin
from client.errors import ApiError, ClientError, UnreachableError
from client.resources import Address, ConfigResource, NewTopic, QuotaChange
from client.security import Security, security_of
from client.transport import SocketTransport
from loadgen.admin_port import AdminPort, AdminPortError
from loadgen.plan.plan import SHADOW_KEY, Plan, Tenant
from loadgen.plan.run_spec import Topology
from loadgen.plan.schedule import event_counts
from loadgen.worker.worker import properties_of
from protocol import messages
from protocol.configs import ResourceType
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from uuid import UUID

REQUEST_TIMEOUT_MS = 10_000
CONNECT_TIMEOUT_MS = 4_000
_TOPICS_PER_REQUEST = 500
_LATEST = -1
_CONFIG_KEYS = {
    "controller.quota.window.num": 11.0,
    "controller.quota.window.size.seconds": 1.0,
    "producer.id.quota.window.size.seconds": 3600.0,
}
"""What the promises depend on, with Kafka's defaults for who does not say."""


class PreparationError(Exception):
    """The plan can't run against this target; one line."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the target turned out to be."""

    topology: Topology
    config: dict[str, float]
    """The keys that promises depend on."""
    unknown_quotas: list[str] = field(default_factory=list)
    """Quota keys that this target does not have."""
    is_shadow: bool = False
    """Whether the target enforces no quota."""


def prepare(
    plan: Plan,
    run_id: str,
    bootstrap_servers: str,
    *,
    sets_quotas: bool,
    admin_port: AdminPort | None = None,
) -> Found:
    """Make the target ready for a run.

    Args:
        plan: the load.
        run_id: names the topics that only this run needs.
        bootstrap_servers: where the cluster is.
        sets_quotas: whether the plan's quotas are set; else they are only what is promised.
        admin_port: where quotas in shadow mode are set; their report is cleared.

    Raises:
        PreparationError: nobody answers, somebody is not let in, or a topic or quota is refused.
    """
    try:
        addresses = addresses_of(bootstrap_servers)
    except ValueError as error:
        raise PreparationError(str(error)) from error
    try:
        for tenant in _one_per_login(plan.tenants):
            _check_login(plan, tenant, addresses)
        with _transport(plan, plan.tenants[0], REQUEST_TIMEOUT_MS) as transport:
            admin = Admin(addresses, transport, now_ms=clock.now_ms, sleep_ms=clock.sleep_ms)
            _create_topics(admin, _topics_of(plan, run_id))
            topology = _look(admin, [topic.name for topic in plan.topics])
            topology.start_offsets = _end_offsets(transport, topology)
            config, is_shadow = _read_config(admin, topology)
            unknown = _set_quotas(admin, plan, admin_port) if sets_quotas else []
        if admin_port is not None:
            admin_port.clear_shadow_report()
    except ClientError as error:
        raise PreparationError(f"{bootstrap_servers}: {error}") from error
    except AdminPortError as error:
        raise PreparationError(str(error)) from error
    return Found(topology, config, unknown, is_shadow)


def _one_per_login(tenants: Iterable[Tenant]) -> list[Tenant]:
    return list({(each.user, each.password, each.mechanism): each for each in tenants}.values())


def security_of_tenant(plan: Plan, tenant: Tenant) -> Security:
    """How a tenant gets in.

    Raises:
        SecurityError: the properties make no sense.
    """
    return security_of(properties_of(plan.target, tenant))


def _transport(plan: Plan, tenant: Tenant, timeout_ms: int) -> SocketTransport:
    return SocketTransport("mock-kafka-load", security_of_tenant(plan, tenant), timeout_ms)


def _check_login(plan: Plan, tenant: Tenant, addresses: Sequence[Address]) -> None:
    try:
        with _transport(plan, tenant, CONNECT_TIMEOUT_MS) as transport:
            admin = Admin(addresses, transport, now_ms=clock.now_ms, sleep_ms=clock.sleep_ms)
            admin.describe_cluster()
    except UnreachableError:
        raise
    except ClientError as error:
        raise PreparationError(f"tenant {tenant.name}: {error}") from error


def _topics_of(plan: Plan, run_id: str) -> list[NewTopic]:
    """The plan's topics, and those that expanders and deleters will want to find."""
    found = [NewTopic(each.name, each.partitions, 1) for each in plan.topics]
    first = 0
    for tenant, count in zip(plan.tenants, event_counts(plan), strict=True):
        partitions = {"topic-expander": 1, "topic-deleter": tenant.partitions}
        if tenant.behaviour in partitions:
            found += [
                NewTopic(
                    f"{run_id}.{tenant.name}.{event_id}.{index}", partitions[tenant.behaviour], 1
                )
                for event_id in range(first, first + count)
                for index in range(tenant.topics_per_request)
            ]
        first += count
    return found


def _create_topics(admin: Admin, topics: Sequence[NewTopic]) -> None:
    for first in range(0, len(topics), _TOPICS_PER_REQUEST):
        some = topics[first : first + _TOPICS_PER_REQUEST]
        for name, error in admin.create_topics(some).items():
            if error is not None and error.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise PreparationError(f"topic {name}: {error}")


def _look(admin: Admin, topics: Sequence[str]) -> Topology:
    cluster = admin.describe_cluster()
    leaders: dict[str, list[int]] = {}
    topic_ids: dict[str, UUID] = {}
    for name, found in admin.describe_topics(topics).items() if topics else ():
        if isinstance(found, ApiError):
            raise PreparationError(f"topic {name}: {found}")
        leaders[name] = [partition.leader_id for partition in found.partitions]
        if found.topic_id is not None:
            topic_ids[name] = found.topic_id
    return Topology(dict(cluster.brokers), cluster.controller_id, leaders, topic_ids)


def _end_offsets(transport: SocketTransport, topology: Topology) -> dict[str, dict[int, int]]:
    """Where each partition ends: what a run writes is behind it."""
    found: dict[str, dict[int, int]] = {}
    topic_class = messages.ListOffsetsRequest.ListOffsetsTopic
    for node, address in topology.brokers.items():
        topics = [
            topic_class(
                name=name,
                partitions=[
                    topic_class.ListOffsetsPartition(
                        partition_index=index, current_leader_epoch=-1, timestamp=_LATEST
                    )
                    for index, leader in enumerate(leaders)
                    if leader == node
                ],
            )
            for name, leaders in topology.leaders.items()
        ]
        request = messages.ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=topics)
        for topic in transport.ask(address, request).topics:
            offsets = found.setdefault(topic.name, {})
            offsets |= {each.partition_index: max(0, each.offset) for each in topic.partitions}
    return found


def _read_config(admin: Admin, topology: Topology) -> tuple[dict[str, float], bool]:
    """What promises depend on, and whether no quota is enforced."""
    resource = ConfigResource(ResourceType.BROKER, str(min(topology.brokers)))
    entries = admin.describe_configs([resource])[resource]
    config = dict(_CONFIG_KEYS)
    if isinstance(entries, ApiError):
        return config, False
    config |= {each.name: float(each.value or 0) for each in entries if each.name in config}
    return config, any(each.name == SHADOW_KEY and each.value == "true" for each in entries)


def _set_quotas(admin: Admin, plan: Plan, admin_port: AdminPort | None) -> list[str]:
    """Set them all; returns the keys that the target does not know."""
    unknown = []
    for quota in plan.quotas:
        entity = {kind: name or None for kind, name in quota.entity.items()}
        if quota.shadow:
            if admin_port is None:
                raise PreparationError(
                    f"quota {quota.key} of {dict(quota.entity)}: shadow mode is set at mock-kafka's"
                    " admin port: --admin URL"
                )
            admin_port.set_shadow_quota(entity, quota.key, quota.value)
            continue
        [error] = admin.alter_client_quotas([QuotaChange(entity, {quota.key: quota.value})])
        if error is None:
            continue
        if quota.key != "producer_ids_rate":
            raise PreparationError(f"quota {quota.key} of {dict(quota.entity)}: {error}")
        unknown.append(quota.key)
    return unknown


def slots_error(plan: Plan, workers: int, slots: int) -> str | None:
    """Why so many workers can't start together, or None."""
    clients = sum(tenant.clients for tenant in plan.tenants)
    if workers > slots:
        return (
            f"{workers} workers need as many free slots at once, and there are {slots};"
            f" ask for fewer or give Spark more cores"
        )
    if workers > clients:
        return f"{workers} workers for {clients} clients: at least one would have nothing to do"
    return None


def open_files_needed(plan: Plan, workers: int) -> int:
    """How many descriptors each worker may need."""
    return ceil(sum(tenant.clients for tenant in plan.tenants) * 2 / workers) + 256
