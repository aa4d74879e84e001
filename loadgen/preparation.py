"""Prepare the target of a load: check the logins, create topics, set quotas, find the leaders.

This happens before Spark has started, so that a plan that cannot run fails within seconds.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import TYPE_CHECKING

from client import clock
from client.addresses import addresses_of
from client.admin import Admin
from client.errors import ApiError, ClientError, UnreachableError
from client.resources import Address, ConfigResource, NewTopic, QuotaChange
from client.transport import SocketTransport
from loadgen.admin_port import AdminPort, AdminPortError
from loadgen.clients.connection_settings import REQUEST_TIMEOUT_MS, security_of_tenant
from loadgen.command_error import CommandError
from loadgen.fault_target import FaultTarget
from loadgen.leader_moves import KafkaLeaders
from loadgen.plan.plan import SHADOW_KEY, Plan, Tenant
from loadgen.plan.run_spec import PreparedTarget, Topology
from loadgen.plan.schedule import event_counts
from protocol import messages
from protocol.configs import ResourceType
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from uuid import UUID

CONNECT_TIMEOUT_MS = 4_000
_TOPICS_PER_REQUEST = 500
_QUOTAS_TIMEOUT_MS, _POLL_MS = 60_000, 50
_LATEST = -1
CONFIG_KEYS = {
    "controller.quota.window.num": 11.0,
    "controller.quota.window.size.seconds": 1.0,
    "producer.id.quota.window.size.seconds": 3600.0,
}
"""The configuration that the checks depend on, with Kafka's defaults."""


class PreparationError(CommandError):
    """The plan cannot run against this target; the message is one line."""


def prepare(
    plan: Plan,
    run_id: str,
    bootstrap_servers: str,
    *,
    sets_quotas: bool,
    admin_port: AdminPort | None = None,
) -> PreparedTarget:
    """Prepare the target for a run.

    Args:
        plan: the load.
        run_id: part of the names of topics that only this run uses.
        bootstrap_servers: the addresses of the cluster.
        sets_quotas: whether to set the plan's quotas; otherwise they are only checked.
        admin_port: sets quotas in shadow mode, and carries out the faults of the plan. Its shadow
            report is cleared, unless the plan has only faults.

    Raises:
        FaultError: a fault of the plan cannot be carried out.
        PreparationError: no broker responds, a login fails, or a topic or quota is refused.
    """
    quota_port = None if plan.needs_only_faults else admin_port
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
            topology = _find_topology(admin, [topic.name for topic in plan.topics])
            topology.start_offsets = _end_offsets(transport, topology)
            config, is_shadow = _read_config(admin, topology)
            unknown = _set_quotas(admin, plan, quota_port) if sets_quotas else []
            if sets_quotas:
                _await_quotas(transport, topology, plan, unknown)
        if quota_port is not None:
            quota_port.clear_shadow_report()
    except ClientError as error:
        raise PreparationError(f"{bootstrap_servers}: {error}") from error
    except AdminPortError as error:
        raise PreparationError(str(error)) from error
    if plan.faults:
        fault_target = FaultTarget(admin_port, KafkaLeaders(plan, bootstrap_servers))
        fault_target.check(plan.faults, topology.leaders)
    return PreparedTarget(topology, config, unknown, is_shadow)


def _one_per_login(tenants: Iterable[Tenant]) -> list[Tenant]:
    return list({(t.user, t.password, t.mechanism): t for t in tenants}.values())


def _transport(plan: Plan, tenant: Tenant, timeout_ms: int) -> SocketTransport:
    return SocketTransport("mock-kafka-load", security_of_tenant(plan.target, tenant), timeout_ms)


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
    """Return the plan's topics, and those that the load will expand or delete."""
    found = [
        NewTopic(topic.name, topic.partitions, topic.replication_factor) for topic in plan.topics
    ]
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
        batch = topics[first : first + _TOPICS_PER_REQUEST]
        for name, error in admin.create_topics(batch).items():
            if error is not None and error.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise PreparationError(f"topic {name}: {error}")


def _find_topology(admin: Admin, topics: Sequence[str]) -> Topology:
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
    """Return the end offset of each partition, where the run will start to write."""
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
            offsets |= {
                partition.partition_index: max(0, partition.offset)
                for partition in topic.partitions
            }
    return found


def _read_config(admin: Admin, topology: Topology) -> tuple[dict[str, float], bool]:
    """Return the configuration for the checks, and whether all quotas are in shadow mode."""
    resource = ConfigResource(ResourceType.BROKER, str(min(topology.brokers)))
    entries = admin.describe_configs([resource])[resource]
    config = dict(CONFIG_KEYS)
    if isinstance(entries, ApiError):
        return config, False
    config |= {entry.name: float(entry.value or 0) for entry in entries if entry.name in config}
    return config, any(entry.name == SHADOW_KEY and entry.value == "true" for entry in entries)


def _set_quotas(admin: Admin, plan: Plan, admin_port: AdminPort | None) -> list[str]:
    """Set all quotas; return the keys that the target does not support."""
    unknown = []
    for quota in plan.quotas:
        entity = {kind: name or None for kind, name in quota.entity.items()}
        if quota.shadow:
            if admin_port is None:
                raise PreparationError(
                    f"quota {quota.key} of {dict(quota.entity)}: shadow mode needs the URL of"
                    " mock-kafka's admin port: --admin URL"
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


def _await_quotas(
    transport: SocketTransport, topology: Topology, plan: Plan, unknown: Sequence[str]
) -> None:
    """Wait until every broker knows the quotas.

    A broker of Kafka that still creates partitions applies a quota seconds after the response, and
    charges nothing until then.

    Raises:
        PreparationError: a broker does not know them in time.
    """
    awaited = {
        (frozenset((kind, name or None) for kind, name in quota.entity.items()), quota.key): (
            quota.value
        )
        for quota in plan.quotas
        if not quota.shadow and quota.key not in unknown
    }
    request = messages.DescribeClientQuotasRequest(components=[], strict=False)
    deadline_ms = clock.now_ms() + _QUOTAS_TIMEOUT_MS
    for node, address in topology.brokers.items():
        while awaited:
            known = {
                (frozenset((p.entity_type, p.entity_name) for p in entry.entity), value.key): (
                    value.value
                )
                for entry in transport.ask(address, request).entries or ()
                for value in entry.values
            }
            if awaited.items() <= known.items():
                break
            if clock.now_ms() > deadline_ms:
                raise PreparationError(
                    f"broker {node} does not know the quotas {_QUOTAS_TIMEOUT_MS // 1000} s after"
                    " they were set"
                )
            clock.sleep_ms(_POLL_MS)


def slots_error(plan: Plan, workers: int, slots: int) -> str | None:
    """Return why the workers cannot start together, or None."""
    clients = sum(tenant.clients for tenant in plan.tenants)
    if workers > slots:
        return (
            f"{workers} workers need {workers} free Spark slots at the same time, and there are"
            f" {slots}; use fewer workers or give Spark more cores"
        )
    if workers > clients:
        return f"{workers} workers for {clients} clients: each worker needs at least one client"
    return None


def open_files_needed(plan: Plan, workers: int) -> int:
    """Return the number of file descriptors that a worker may need."""
    return ceil(sum(tenant.clients for tenant in plan.tenants) * 2 / workers) + 256
