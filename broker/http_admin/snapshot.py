"""Snapshots: the state of a cluster as one document, to save it and to load it again.

A document has topics with their records, producers and open transactions; groups with their members
and offsets; what was configured at run time; quotas, fault rules, SCRAM credentials and access
control lists. It has no connections, fetch sessions or records in flight.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple

from broker.cluster.topics import Topic
from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.acls import AclQuery, list_acls
from broker.http_admin.long_body import read_long_body
from broker.http_admin.operation import Input, Problem, operation
from broker.http_admin.quotas import quota_views
from broker.http_admin.snapshot_cluster import (
    saved_brokers,
    saved_configs,
    saved_features,
    saved_tokens,
)
from broker.http_admin.snapshot_coordinators import (
    CoordinatorsAtOnce,
    coordinators_at_once,
    saved_groups,
    saved_offsets,
    saved_share_states,
    saved_transactions,
)
from broker.http_admin.snapshot_document import (
    LONG_PARTS,
    MECHANISMS,
    SavedCredential,
    SavedPartition,
    SavedTopic,
    Snapshot,
)
from broker.http_admin.snapshot_load import at_once_actions, load_snapshot, rules_of
from broker.http_admin.snapshot_partitions import (
    LeftBytes,
    LogAtOnce,
    fill_log,
    log_at_once,
    saved_leader,
)
from broker.http_admin.state import Admin
from protocol.pacing import may_pause, no_pause, paced

SAVED_BYTES_MAX = 8 * 1024 * 1024
"""Most bytes of keys, values and batches in a snapshot."""

SNAPSHOT_BYTES_MAX = 32 * 1024 * 1024
"""Largest document that can be loaded."""


class SaveQuery(Input):
    """Whether the document has the records, and whether it has all of them as stored batches.

    With `batches` nothing of a batch is lost: who produced it, its compression, what it is with.
    """

    records: bool = True
    batches: bool = False


class LoadQuery(Input):
    """With `keep` a reset loads the document again, as if the cluster had been started with it.

    `at_once` allows fault rules that act at once. With `cluster_id` the cluster has the id of the
    document, until the next reset.
    """

    keep: bool = False
    at_once: bool = False
    cluster_id: bool = False


class _AtOnce(NamedTuple):
    """A cluster at one moment: what may change while the document is made."""

    cluster_id: str
    next_producer_id: int
    topics: list[tuple[Topic, Mapping[str, str], list[SavedPartition]]]
    logs: dict[Topic, list[LogAtOnce]]
    coordinators: CoordinatorsAtOnce


def _at_once(admin: Admin, *, has_records: bool) -> _AtOnce:
    cluster = admin.cluster
    topics = list(cluster.topics.all())
    return _AtOnce(
        cluster.cluster_id,
        cluster.producer_ids.next_block_start,
        [
            (topic, dict(topic.config.overrides), list(map(saved_leader, topic.partitions)))
            for topic in topics
        ],
        {
            topic: list(map(log_at_once, topic.partitions))
            for topic in topics
            if has_records and not topic.is_internal
        },
        coordinators_at_once(cluster),
    )


@operation("GET", "/v1/snapshot", tag="snapshot", turn_kind=TurnKind.READING, opened=LONG_PARTS)
@may_pause
def get_snapshot(admin: Admin, query: SaveQuery) -> Snapshot:
    """Return the state of the cluster as one document, which `PUT /v1/snapshot` loads.

    It is that of one moment. Records of committed transactions are plain records. Used-up fault
    rules, secrets and the records of internal topics are left out.
    """
    cluster = admin.cluster
    with no_pause():
        found = _at_once(admin, has_records=query.records)
    left = LeftBytes(SAVED_BYTES_MAX)
    saved: list[SavedTopic] = []
    internal: list[SavedTopic] = []
    for topic, config, partitions in paced(found.topics):
        logs = found.logs.get(topic, [])
        for partition, log in paced(list(zip(partitions, logs, strict=False))):
            fill_log(partition, log, left, all_batches=query.batches)
        kind = internal if topic.is_internal else saved
        kind.append(SavedTopic(topic.name, partitions, dict(config), topic.topic_id))
    coordinators = found.coordinators
    return Snapshot(
        cluster_id=found.cluster_id,
        next_producer_id=found.next_producer_id,
        features=saved_features(cluster),
        brokers=saved_brokers(cluster),
        configs=saved_configs(cluster),
        topics=saved,
        internal_topics=internal,
        offsets=saved_offsets(coordinators.offsets),
        groups=saved_groups(coordinators.group_logs),
        transactions=saved_transactions(coordinators.transaction_logs),
        share_states=saved_share_states(coordinators.share_states),
        quotas=quota_views(admin),
        faults=[
            state.without_past() for state in paced(admin.faults.rules()) if not state.is_used_up
        ],
        credentials=_saved_credentials(admin),
        delegation_tokens=saved_tokens(cluster.delegation_tokens),
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
    await load_snapshot(admin, body, rules, takes_id=query.cluster_id)
    if query.keep:
        takes_id = query.cluster_id
        admin.restore = lambda: load_snapshot(admin, body, rules, takes_id=takes_id)


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
