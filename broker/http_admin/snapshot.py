"""Snapshots: the setup of a cluster as one document, to save it and to load it again.

A document has topics with their configuration and records, committed offsets, quotas, fault rules,
SCRAM credentials and access control lists. It has no connections, members of groups, producers or
open transactions.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any

from broker.cluster.topics import Partition
from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.acls import AclQuery, list_acls
from broker.http_admin.json_parts import encoded_elements
from broker.http_admin.long_body import read_long_body
from broker.http_admin.operation import Input, Problem, operation
from broker.http_admin.quotas import quota_views
from broker.http_admin.snapshot_document import (
    LONG_PARTS,
    MECHANISMS,
    SavedCredential,
    SavedOffset,
    SavedPartition,
    SavedRecord,
    SavedTopic,
    Snapshot,
)
from broker.http_admin.snapshot_load import at_once_actions, load_snapshot, rules_of
from broker.http_admin.state import Admin
from broker.http_admin.topic_records import HeaderBody, committed_records, saved_bytes
from protocol.pacing import current_turn, may_pause, paced
from protocol.records import Record

SAVED_BYTES_MAX = 8 * 1024 * 1024
"""Most bytes of keys and values in a snapshot."""

SNAPSHOT_BYTES_MAX = 32 * 1024 * 1024
"""Largest document that can be loaded."""


class SaveQuery(Input):
    """Whether the document has the records."""

    records: bool = True


class LoadQuery(Input):
    """With `keep` a reset loads the document again, as if the cluster had been started with it.

    `at_once` allows fault rules that act at once.
    """

    keep: bool = False
    at_once: bool = False


@operation("GET", "/v1/snapshot", tag="snapshot", turn_kind=TurnKind.READING, opened=LONG_PARTS)
@may_pause
def get_snapshot(admin: Admin, query: SaveQuery) -> Snapshot:
    """Return the setup of the cluster as one document, which `PUT /v1/snapshot` loads.

    Records of open and aborted transactions, internal topics and used-up fault rules are left out.
    """
    cluster = admin.cluster
    left_bytes = [SAVED_BYTES_MAX]
    # Before the records: what is committed in a pause may be past the end of a log that is saved.
    offsets = _saved_offsets(admin)
    return Snapshot(
        topics=[
            SavedTopic(
                topic.name,
                [
                    _saved_partition(partition, left_bytes, has_records=query.records)
                    for partition in paced(topic.partitions)
                ],
                dict(topic.config.overrides),
            )
            for topic in paced(cluster.topics.all())
            if not topic.is_internal
        ],
        offsets=offsets,
        quotas=quota_views(admin),
        faults=[
            state.without_past() for state in paced(admin.faults.rules()) if not state.is_used_up
        ],
        credentials=_saved_credentials(admin),
        acls=list_acls(admin, AclQuery()),
    )


@operation(
    "PUT",
    "/v1/snapshot",
    tag="snapshot",
    status=204,
    media_type=None,
    read_bytes=lambda body: read_long_body(body, Snapshot, LONG_PARTS),
    body_bytes_max=SNAPSHOT_BYTES_MAX,
    further_rules="A fault rule is invalid, or acts at once without `at_once`; or the cluster would"
    " refuse another part of the document, and the cluster is empty then",
)
async def put_snapshot(admin: Admin, query: LoadQuery, body: Snapshot) -> None:
    """Reset the cluster, and load a document.

    Connections are closed as by a reset; requests of new ones wait until the document is loaded.
    The timestamps of records are kept, so retention applies to them. Fault rules begin again. If
    one acts at once, as one that stops a broker may, nothing is changed without `at_once`: the
    response names what the rules would do.
    """
    rules = await admin.in_turns(lambda: rules_of(body))
    actions = at_once_actions(rules)
    if actions and not query.at_once:
        detail = "; to load it nevertheless, set at_once=true"
        raise Problem(422, f"faults: the snapshot acts at once: {'; '.join(actions)}{detail}")
    admin.restore = None
    admin.begin_again()
    await load_snapshot(admin, body, rules)
    if query.keep:
        admin.restore = lambda: load_snapshot(admin, body, rules)


@may_pause
def _saved_offsets(admin: Admin) -> list[SavedOffset]:
    groups = admin.cluster.groups.table
    return [
        SavedOffset(
            listing.group_id,
            topic_name,
            index,
            committed.offset,
            committed.leader_epoch,
            committed.metadata or "",
        )
        for listing in paced(groups.list_groups())
        for topic_name, index, committed in paced(groups.all_committed(listing.group_id))
    ]


@may_pause
def _saved_credentials(admin: Admin) -> list[SavedCredential]:
    credentials = admin.cluster.credentials
    return [
        SavedCredential(
            name,
            mechanism,
            credential.iterations,
            b64encode(credential.salt).decode(),
            b64encode(credential.stored_key).decode(),
            b64encode(credential.server_key).decode(),
        )
        for name in paced(credentials.scram_users())
        for mechanism in MECHANISMS
        if (credential := credentials.altered_scram(name, mechanism)) is not None
    ]


@may_pause
def _saved_partition(
    partition: Partition, left_bytes: list[int], *, has_records: bool
) -> SavedPartition:
    log = partition.log
    if not has_records:
        return SavedPartition(list(partition.replicas))
    log_start_offset, log_end_offset = log.log_start_offset, log.log_end_offset
    return SavedPartition(
        list(partition.replicas),
        log_start_offset,
        log_end_offset,
        log.high_watermark if log.high_watermark < log_end_offset else None,
        _encoded(committed_records(partition, log_end_offset), left_bytes),
    )


@may_pause
def _encoded(records: Iterable[Record], left_bytes: list[int]) -> Any:
    """Return a list of records as encoded JSON, which takes less memory."""
    return encoded_elements(_saved_records(records, left_bytes))


@may_pause
def _saved_records(records: Iterable[Record], left_bytes: list[int]) -> Iterator[SavedRecord]:
    turn = current_turn()
    for record in records:
        if turn is not None:
            turn.pause()
        left_bytes[0] -= len(record.key or b"") + len(record.value or b"")
        if left_bytes[0] < 0:
            mib = SAVED_BYTES_MAX >> 20
            detail = f"the cluster has more than {mib} MiB of records; use records=false"
            raise Problem(409, detail)
        yield SavedRecord(
            record.offset,
            record.timestamp,
            saved_bytes(record.key),
            saved_bytes(record.value),
            [HeaderBody(name, saved_bytes(value)) for name, value in record.headers],
        )
