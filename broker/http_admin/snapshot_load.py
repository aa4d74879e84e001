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
from broker.cluster.topics import Topic
from broker.errors import Refusal
from broker.faults import FaultRule, rules_from_json
from broker.groups.requests import OffsetToCommit
from broker.http_admin.acls import put_acls
from broker.http_admin.group_offsets import commit_offsets
from broker.http_admin.operation import Problem
from broker.http_admin.quotas import QuotaView
from broker.http_admin.snapshot_document import (
    SavedCredential,
    SavedPartition,
    SavedTopic,
    Snapshot,
)
from broker.http_admin.state import Admin
from broker.http_admin.topic_records import bytes_of, decoded_base64
from broker.produce.restore_records import restore_records
from broker.security.scram import ScramCredential
from protocol.pacing import may_pause, paced, paced_elements
from protocol.records import Record
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


async def load_snapshot(admin: Admin, snapshot: Snapshot, rules: Sequence[FaultRule]) -> None:
    """Put everything of a document, whose fault rules are `rules`, into a cluster that was reset.

    Clients see no part of it: their requests wait until everything is there. It is loaded even if
    the client of the admin port disconnects.

    Raises:
        Problem: 422, the cluster refuses a part, and is empty now; 409, it was reset again.
    """
    await asyncio.shield(asyncio.ensure_future(_load_and_serve(admin, snapshot, rules)))


async def _load_and_serve(admin: Admin, snapshot: Snapshot, rules: Sequence[FaultRule]) -> None:
    cluster, reset_count = admin.cluster, admin.server.reset_count
    for broker in cluster.brokers.values():
        cluster.set_availability(broker, Availability.ISOLATED)
    try:
        await admin.alone_in_turns(lambda: _load(admin, snapshot))
        for broker in cluster.brokers.values():
            cluster.set_availability(broker, Availability.UP)
        # The rules come last: one that acts at once finds its topic.
        admin.faults.clear()
        try:
            admin.faults.add_all(rules, admin.now_ms())
        except ValueError as error:
            raise Problem(422, f"faults: {error}") from error
    except Exception:
        if admin.server.reset_count == reset_count:
            admin.begin_again()
        raise


@may_pause
def _load(admin: Admin, snapshot: Snapshot) -> None:
    """Load all but the fault rules."""
    new_topics = [_new_topic(topic) for topic in paced(snapshot.topics)]
    too_many = check_size(admin.cluster, new_topics)
    if too_many is not None:
        raise _refused("topics", too_many)
    for saved, new_topic in paced(zip(snapshot.topics, new_topics, strict=True)):
        _load_topic(admin, saved, new_topic)
    _load_offsets(admin, snapshot)
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
    cluster = admin.cluster
    plan = check_new_topic(cluster, new_topic)
    if isinstance(plan, Refusal):
        raise _refused(f"topics: {saved.name}", plan)
    topic = create_planned(cluster, new_topic, plan)
    if isinstance(topic, Refusal):
        raise _refused(f"topics: {saved.name}", topic)
    for index, partition in enumerate(paced(saved.partitions)):
        _load_records(admin, topic, index, partition)


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
        )
    except ValueError as error:
        raise Problem(422, f"{where}: {error}") from error


@may_pause
def _load_offsets(admin: Admin, snapshot: Snapshot) -> None:
    by_group: dict[str, list[OffsetToCommit]] = {}
    for saved in paced_elements(snapshot.offsets):
        offset = OffsetToCommit(
            saved.topic, saved.partition, saved.offset, saved.leader_epoch, saved.metadata
        )
        by_group.setdefault(saved.group, []).append(offset)
    for group_id, offsets in by_group.items():
        commit_offsets(admin, group_id, offsets)


def _refused(where: str, refusal: Refusal) -> Problem:
    return Problem(422, f"{where}: {refusal.error_code.name}: {refusal.message}")
