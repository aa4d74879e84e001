"""Load the document of a snapshot into a cluster that was reset."""

import asyncio
from collections.abc import Sequence

from broker.administration.new_topic import (
    BY_DEFAULT,
    NewTopic,
    check_new_topic,
    check_size,
    create_planned,
)
from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import ALL_BY_NAME
from broker.cluster.topics import Topic
from broker.errors import Refusal
from broker.faults import FaultRule, rules_from_json
from broker.http_admin.acls import put_acls
from broker.http_admin.operation import Problem
from broker.http_admin.quotas import QuotaView
from broker.http_admin.snapshot_cluster import check_brokers, load_cluster, open_brokers
from broker.http_admin.snapshot_coordinators import load_coordinators
from broker.http_admin.snapshot_document import (
    SavedCredential,
    SavedPartition,
    SavedTopic,
    Snapshot,
)
from broker.http_admin.snapshot_partitions import load_leader, load_producers
from broker.http_admin.state import Admin
from broker.http_admin.topic_records import bytes_of, decoded_base64
from broker.produce.restore_records import restore_records
from broker.security.scram import ScramCredential
from protocol.pacing import may_pause, paced, paced_elements
from protocol.records import HEADER_BYTES, Record, last_offset
from quotas.entities import make_entity


@may_pause
def rules_of(snapshot: Snapshot) -> list[FaultRule]:
    """Return the fault rules of a document.

    Raises:
        Problem: 422, a rule is invalid.
    """
    try:
        return rules_from_json(snapshot.faults)
    except ValueError as error:
        raise Problem(422, f"faults: {error}") from error


def at_once_actions(rules: Sequence[FaultRule]) -> list[str]:
    """Return what the rules do as soon as they are loaded, such as `rule 2: stop_broker 1`."""
    numbered = enumerate(rules, 1)
    return [f"rule {n}: {rule.describe()}" for n, rule in numbered if rule.trigger.at_once]


@may_pause
def isolate_brokers(cluster: Cluster) -> None:
    """Have the requests of clients wait, until `load_and_open` opens the brokers."""
    for broker in cluster.brokers.values():
        cluster.set_availability(broker, Availability.ISOLATED)


async def load_snapshot(
    admin: Admin, snapshot: Snapshot, rules: Sequence[FaultRule], *, takes_id: bool = False
) -> None:
    """Put everything of a document, whose fault rules are `rules`, into a cluster that was reset.

    Clients see no part of it: their requests wait until everything is there. It is loaded even if
    the client of the admin port disconnects. With `takes_id` the cluster has the document's id.

    Raises:
        Problem: 422, the cluster refuses a part, and is empty now; 409, it was reset again.
    """
    loading = _load_or_begin_again(admin, snapshot, rules, takes_id=takes_id)
    await asyncio.shield(asyncio.ensure_future(loading))


async def _load_or_begin_again(
    admin: Admin, snapshot: Snapshot, rules: Sequence[FaultRule], *, takes_id: bool
) -> None:
    reset_count = admin.server.reset_count
    isolate_brokers(admin.cluster)
    try:
        await load_and_open(admin, snapshot, rules, takes_id=takes_id)
    except Exception:
        if admin.server.reset_count == reset_count:
            admin.begin_again()
        raise


async def load_and_open(
    admin: Admin, snapshot: Snapshot, rules: Sequence[FaultRule], *, takes_id: bool
) -> None:
    """Put everything of a document into an empty cluster with isolated brokers, and open these.

    Raises:
        Problem: 422, the cluster refuses a part; 409, it was reset during this time.
    """
    await admin.alone_in_turns(lambda: _load(admin, snapshot, takes_id=takes_id))
    open_brokers(admin.cluster, snapshot.brokers)
    # The rules come last: one that acts at once finds its topic.
    admin.faults.clear()
    try:
        admin.faults.add_all(rules, admin.now_ms())
    except ValueError as error:
        raise Problem(422, f"faults: {error}") from error


@may_pause
def _load(admin: Admin, snapshot: Snapshot, *, takes_id: bool) -> None:
    """Load all but the fault rules, and which brokers are up."""
    cluster = admin.cluster
    check_brokers(cluster, snapshot.brokers)
    load_cluster(admin, snapshot, takes_id=takes_id)
    new_topics = [_new_topic(topic) for topic in paced(snapshot.topics)]
    too_many = check_size(cluster, new_topics)
    if too_many is not None:
        raise _refused("topics", too_many)
    for saved, new_topic in paced(zip(snapshot.topics, new_topics, strict=True)):
        _load_topic(admin, saved, new_topic)
    internal = [_internal_topic(admin, saved) for saved in paced(snapshot.internal_topics)]
    load_coordinators(admin, snapshot)
    # Now, because nothing could be written to a partition whose leader is down.
    for topic, saved in paced(internal):
        for index, partition in enumerate(saved.partitions[: len(topic.partitions)]):
            load_leader(cluster, topic, topic.partitions[index], partition)
    for quota in paced_elements(snapshot.quotas):
        _load_quota(admin, quota)
    for credential in paced_elements(snapshot.credentials):
        _load_credential(admin, credential)
    _load_acls(admin, snapshot)


@may_pause
def _load_quota(admin: Admin, quota: QuotaView) -> None:
    clients = admin.cluster.quotas.clients
    for is_shadow in (False, True):
        values = [
            (name, value)
            for name, value in quota.values.items()
            if (name in quota.shadow) is is_shadow
        ]
        problem = clients.alter(make_entity(quota.entity.items()), values, is_shadow=is_shadow)
        if problem is not None:
            raise Problem(422, f"quotas: {problem}")


@may_pause
def _load_acls(admin: Admin, snapshot: Snapshot) -> None:
    if not snapshot.acls:
        return
    try:
        put_acls(admin, snapshot.acls)
    except Problem as problem:
        raise Problem(422, f"acls: {problem.reason}") from problem


def _load_credential(admin: Admin, credential: SavedCredential) -> None:
    admin.cluster.credentials.set_scram(
        credential.user,
        credential.mechanism,
        ScramCredential(
            decoded_base64(credential.salt),
            credential.iterations,
            decoded_base64(credential.stored_key),
            decoded_base64(credential.server_key),
        ),
    )


def _new_topic(topic: SavedTopic) -> NewTopic:
    assignments = tuple(
        (index, tuple(partition.replicas))
        for index, partition in enumerate(topic.partitions)
        if partition.replicas
    )
    if not assignments:
        return NewTopic(topic.name, len(topic.partitions), BY_DEFAULT, (), topic.config)
    if len(assignments) < len(topic.partitions):
        raise Problem(422, f"topics: {topic.name}: all partitions have replicas, or none has")
    return NewTopic(topic.name, BY_DEFAULT, BY_DEFAULT, assignments, topic.config)


@may_pause
def _load_topic(admin: Admin, saved: SavedTopic, new_topic: NewTopic) -> None:
    topic = _created(admin, saved, new_topic, f"topics: {saved.name}")
    for index, partition in enumerate(paced(saved.partitions)):
        load_leader(admin.cluster, topic, topic.partitions[index], partition)
        _load_records(admin, topic, index, partition)
        load_producers(topic.partitions[index], partition)


@may_pause
def _internal_topic(admin: Admin, saved: SavedTopic) -> tuple[Topic, SavedTopic]:
    """Create an internal topic with the replicas that it had, so that coordinators stay.

    If the cluster has another number of partitions, it places them itself.
    """
    cluster, where = admin.cluster, f"internal_topics: {saved.name}"
    internal = ALL_BY_NAME.get(saved.name)
    if internal is None:
        raise Problem(422, f"{where}: Kafka has no such topic")
    if cluster.config[internal.partition_count_key] != len(saved.partitions):
        topic = ensure_internal_topic(cluster, internal)
        if topic is None:
            raise Problem(422, f"{where}: it cannot be created with these brokers")
        return topic, SavedTopic(saved.name, [])
    topic = _created(admin, saved, _new_topic(saved), where)
    for partition, saved_partition in paced(zip(topic.partitions, saved.partitions, strict=True)):
        partition.leader_epoch = saved_partition.leader_epoch
    return topic, saved


@may_pause
def _created(admin: Admin, saved: SavedTopic, new_topic: NewTopic, where: str) -> Topic:
    cluster, topic_id = admin.cluster, saved.topic_id
    plan = check_new_topic(cluster, new_topic)
    if isinstance(plan, Refusal):
        raise _refused(where, plan)
    if topic_id is not None and cluster.topics.get_by_id(topic_id) is not None:
        raise Problem(422, f"{where}: another topic has the id {topic_id}")
    topic = create_planned(cluster, new_topic, plan, topic_id=topic_id)
    if isinstance(topic, Refusal):
        raise _refused(where, topic)
    return topic


@may_pause
def _load_records(admin: Admin, topic: Topic, index: int, saved: SavedPartition) -> None:
    where = f"topics: {topic.name}-{index}"
    offset = saved.log_start_offset
    records: list[Record] = []
    for record in paced_elements(saved.records):
        if record.offset is not None and record.offset < offset:
            raise Problem(422, f"{where}: offset {record.offset} is not above the one before it")
        offset = offset if record.offset is None else record.offset
        headers = tuple((header.key, bytes_of(header.value)) for header in record.headers)
        key, value = bytes_of(record.key), bytes_of(record.value)
        timestamp = admin.now_ms() if record.timestamp < 0 else record.timestamp
        records.append(Record(offset, timestamp, key, value, headers))
        offset += 1
    for batch in saved.batches[-1:]:
        offset = max(offset, _end_of(decoded_base64(batch), where))
    log_end_offset = offset if saved.log_end_offset is None else saved.log_end_offset
    if log_end_offset < offset:
        raise Problem(422, f"{where}: log_end_offset {log_end_offset} is below {offset}")
    start, high_watermark = saved.log_start_offset, saved.high_watermark
    if high_watermark is None:
        high_watermark = log_end_offset
    if not start <= high_watermark <= log_end_offset:
        detail = f"high_watermark {high_watermark} is not in {start} to {log_end_offset}"
        raise Problem(422, f"{where}: {detail}")
    try:
        restore_records(
            admin.cluster,
            topic,
            topic.partitions[index],
            records,
            log_start_offset=start,
            high_watermark=high_watermark,
            log_end_offset=log_end_offset,
            now_ms=admin.now_ms(),
            batches=[decoded_base64(batch) for batch in paced_elements(saved.batches)],
            leader_epochs=[(entry.epoch, entry.start_offset) for entry in saved.leader_epochs],
        )
    except ValueError as error:
        raise Problem(422, f"{where}: {error}") from error


def _end_of(batch: bytes, where: str) -> int:
    """Return the offset behind a stored batch."""
    if len(batch) < HEADER_BYTES:
        raise Problem(422, f"{where}: {len(batch)} bytes are no record batch")
    return last_offset(batch) + 1


def _refused(where: str, refusal: Refusal) -> Problem:
    return Problem(422, f"{where}: {refusal.error_code.name}: {refusal.message}")
