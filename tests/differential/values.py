"""What generated requests contain: sensible values first, then wrong ones.

`FIELDS` has the values of a field by `API.field`, or by `field` for all APIs. Hypothesis shrinks
towards the first value of each list.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.differential.streams_values import STREAMS_FIELDS, STREAMS_STRUCTS

NAME_CHARACTERS_MAX = 249
PREFIX_CHARACTERS = 11
SUBSCRIPTION = "\0\0\0\0\0\1\0\x0c~a\0\0\0\0"
"""A consumer's subscription to the topic ~a (ConsumerProtocolSubscription, version 0)."""
LONG_NAME = f"~x{{{NAME_CHARACTERS_MAX - PREFIX_CHARACTERS}}}"

CONSUMER_MEMBER = "~m"
SHARE_MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"
"""A member id that is a UUID, which ShareFetch demands."""
TRANSACTIONAL_ID = "~x"

TOPICS = (
    "~a",
    "~a",
    "~a",
    "~b",
    "~missing",
    "",
    "~a.b",
    "~a_b",
    "~ ",
    ".",
    LONG_NAME,
    f"{LONG_NAME}x",
)
GROUPS = ("~g", "~g", "~g", "~h", "")
PARTITIONS = (0, 0, 0, 1, 2, -1)
BROKERS = (1, 1, 1, 2, 3, 4, -1, 0)
MEMBERS = ("member_id#0", "member_id#0", "", "unknown", "member_id#1")
GENERATIONS = (1, 1, -1, 0, 2)
USERS = ("~u", "~u", "~v", "")

TOPIC_CONFIGS: tuple[tuple[str, str | None], ...] = (
    ("retention.ms", "1000000"),
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "compact,delete"),
    ("cleanup.policy", "delete, compact"),
    ("cleanup.policy", ""),
    ("cleanup.policy", "bogus"),
    ("retention.ms", "x"),
    ("retention.ms", "-1"),
    ("retention.ms", "-2"),
    ("retention.ms", ""),
    ("retention.ms", " 7 "),
    ("retention.ms", None),
    ("min.insync.replicas", "1"),
    ("min.insync.replicas", "2"),
    ("min.insync.replicas", "0"),
    ("max.message.bytes", "100"),
    ("max.message.bytes", "-1"),
    ("max.message.bytes", "99999999999"),
    ("compression.type", "gzip"),
    ("compression.type", "zstd"),
    ("compression.type", "uncompressed"),
    ("compression.type", "bogus"),
    ("compression.gzip.level", "9"),
    ("compression.gzip.level", "10"),
    ("message.timestamp.type", "LogAppendTime"),
    ("message.timestamp.type", "bogus"),
    ("message.timestamp.before.max.ms", "1000"),
    ("message.timestamp.after.max.ms", "0"),
    ("segment.bytes", "1048576"),
    ("segment.bytes", "1"),
    ("segment.ms", "0"),
    ("unclean.leader.election.enable", "true"),
    ("unclean.leader.election.enable", "maybe"),
    ("preallocate", "TRUE"),
    ("min.cleanable.dirty.ratio", "0.3"),
    ("min.cleanable.dirty.ratio", "1.5"),
    ("leader.replication.throttled.replicas", "*"),
    ("leader.replication.throttled.replicas", "0:1,1:1"),
    ("leader.replication.throttled.replicas", "bogus"),
    ("file.delete.delay.ms", "1000"),
    ("remote.storage.enable", "true"),
    ("remote.storage.enable", "false"),
    ("local.retention.ms", "10"),
    ("no.such.key", "1"),
    ("", "1"),
)
GROUP_CONFIGS: tuple[tuple[str, str | None], ...] = (
    ("consumer.session.timeout.ms", "50000"),
    ("consumer.session.timeout.ms", "1"),
    ("consumer.heartbeat.interval.ms", "x"),
    ("consumer.heartbeat.interval.ms", "5000"),
    ("share.auto.offset.reset", "earliest"),
    ("share.auto.offset.reset", "bogus"),
    ("streams.num.standby.replicas", "1"),
    ("no.such.key", "1"),
)
METRICS_CONFIGS: tuple[tuple[str, str | None], ...] = (
    ("interval.ms", "1000"),
    ("interval.ms", "1"),
    ("interval.ms", "x"),
    ("metrics", "org.apache.kafka.consumer."),
    ("match", "client_id=b.*"),
    ("match", "bogus"),
    ("no.such.key", "1"),
)
BROKER_CONFIGS: tuple[tuple[str, str | None], ...] = (
    ("log.cleaner.threads", "x"),
    ("log.retention.ms", "x"),
    ("broker.id", "7"),
    ("no.such.key", None),
)
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
RESOURCES: tuple[tuple[int, str], ...] = (
    (TOPIC, "~a"),
    (TOPIC, "~a"),
    (TOPIC, "~a"),
    (TOPIC, "~b"),
    (GROUP, "~g"),
    (CLIENT_METRICS, "~m"),
    (TOPIC, "~missing"),
    (TOPIC, ""),
    (TOPIC, "~ "),
    (BROKER, "9"),
    (BROKER, "x"),
    (BROKER_LOGGER, "9"),
    (BROKER_LOGGER, ""),
    (GROUP, ""),
    (CLIENT_METRICS, ""),
    (0, "~a"),
    (1, "~a"),
    (3, "~a"),
)
DESCRIBED_KEYS: tuple[Sequence[str] | None, ...] = (
    ("retention.ms",),
    ("cleanup.policy", "max.message.bytes"),
    ("no.such.key",),
    (),
    None,
)
_CONFIGS = {
    TOPIC: TOPIC_CONFIGS,
    GROUP: GROUP_CONFIGS,
    CLIENT_METRICS: METRICS_CONFIGS,
    BROKER: BROKER_CONFIGS,
}
QUOTA_KEYS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
    "bogus",
    "",
)
QUOTA_VALUES = (1000.0, 10.5, 0.0, -1.0, 1e20)
ENTITIES: tuple[tuple[tuple[str, str | None], ...], ...] = (
    (("user", "~u"),),
    (("client-id", "~c"),),
    (("user", "~u"), ("client-id", "~c")),
    (("client-id", "~c"), ("user", "~u")),
    (("user", "~u"), ("client-id", None)),
    (("ip", "no host!"),),
    (("user", "~u"), ("ip", "10.0.0.1")),
    (("user", "~u"), ("user", "~v")),
    (("bogus", "~u"),),
    (("user", ""),),
    (),
)
FIELDS: Mapping[str, Sequence[Any]] = {
    **STREAMS_FIELDS,
    "group_id": GROUPS,
    "group_ids": GROUPS,
    "groups_names": GROUPS,
    "topic_name": TOPICS,
    "subscribed_topic_names": TOPICS,
    "TxnOffsetCommit.name": TOPICS,
    "topic_id": ("topic_id#0", "topic_id#0", "topic_id#1", "topic_id#9"),
    "timeout_ms": (5000, 30_000, 30_000, 30_000, 0, -1),
    "member_id": MEMBERS,
    "group_instance_id": (None, None, "i", ""),
    "generation_id": GENERATIONS,
    "generation_id_or_member_epoch": (-1, -1, 1, 0, 2),
    "OffsetCommit.group_id": ("~g", "~g", "~h"),
    "OffsetCommit.member_id": ("", "", "member_id#0", "unknown"),
    "OffsetCommit.group_instance_id": (None, None, None, "i"),
    "member_epoch": (-1, -1, 0, 1),
    "ConsumerGroupHeartbeat.member_id": (CONSUMER_MEMBER, CONSUMER_MEMBER, "~n", ""),
    "ConsumerGroupHeartbeat.member_epoch": (0, 1, 1, 2, -1, -2, -3),
    "ConsumerGroupHeartbeat.instance_id": (None, None, None, "i", ""),
    "ConsumerGroupHeartbeat.rack_id": (None, None, "r", ""),
    "ConsumerGroupHeartbeat.rebalance_timeout_ms": (45_000, 45_000, 1000, -1, 0),
    "ConsumerGroupHeartbeat.subscribed_topic_regex": (None, None, None, "~a.*", "", "["),
    "ConsumerGroupHeartbeat.server_assignor": (None, None, "uniform", "range", "bogus", ""),
    "ShareGroupHeartbeat.member_id": (SHARE_MEMBER, SHARE_MEMBER, "~n", ""),
    "ShareGroupHeartbeat.member_epoch": (0, 1, 2, 3, -1, -2),
    "ShareGroupHeartbeat.rack_id": (None, None, "r", ""),
    "ShareFetch.member_id": (SHARE_MEMBER, SHARE_MEMBER, SHARE_MEMBER, "bogus", "", None),
    "ShareAcknowledge.member_id": (SHARE_MEMBER, SHARE_MEMBER, SHARE_MEMBER, "bogus", "", None),
    "share_session_epoch": (1, 1, 0, -1, 2, -2),
    "max_records": (500, 1, 0),
    "batch_size": (500, 1, 0),
    "first_offset": (0, 0, 1, 2, -1),
    "last_offset": (0, 1, 2, -1),
    "acknowledge_types": (1, 1, 2, 3, 0, 4),
    "start_offset": (0, 1, 2, -1, -2),
    "state_epoch": (1, 0, 2, -1),
    "delivery_state": (0, 2, 4, 1),
    "delivery_count": (1, 0, 2),
    "OffsetFetch.member_id": (None, None, "", "member_id#0"),
    "protocol_type": ("consumer", "consumer", "connect", "", None),
    "JoinGroup.protocol_type": ("consumer", "consumer", "connect", ""),
    "protocol_name": ("range", "range", "bogus", None),
    "JoinGroup.member_id": ("", "", "member_id#0", "unknown"),
    "session_timeout_ms": (10_000, 6000, 5999, 1_800_000, 1_800_001, -1),
    "rebalance_timeout_ms": (1000, 1000, -1),
    "reason": (None, "because", ""),
    "assignment": ("", "assignment", {"hex": "0000"}),
    "committed_offset": (0, 3, 100, -1),
    "committed_leader_epoch": (-1, 0, 5),
    "committed_metadata": ("", "metadata", None, "x{4097}"),
    "retention_time_ms": (-1, 1000),
    "isolation_level": (0, 0, 1, 2),
    "leader_epoch": (0, -1, 1),
    "current_leader_epoch": (-1, -1, 0, 1),
    "OffsetForLeaderEpoch.replica_id": (-1, -2),
    "ListOffsets.replica_id": (-1, -1, -2),
    "ListOffsets.timestamp": (-1, -2, -3, -4, -5, -6, 0, "now+0", "now+1", "now+100000"),
    "Fetch.replica_id": (-1,),
    "max_wait_ms": (0, 30),
    "min_bytes": (0, 1, 1_000_000, -1),
    "max_bytes": (1_000_000, 1_000_000, 1, 0, -1),
    "partition_max_bytes": (1_000_000, 1_000_000, 1, 0, -1),
    "session_id": (0, 0, "session_id#0", 123_456_789),
    "session_epoch": (-1, 0, 0, 1, 2, -2),
    "fetch_offset": (0, 1, 2, 3, 4, -1),
    "last_fetched_epoch": (-1, -1, 0, 1),
    "Fetch.log_start_offset": (-1, 0),
    "rack_id": ("", "r"),
    "DescribeQuorum.topic_name": ("__cluster_metadata", "~a", ""),
    "UnregisterBroker.broker_id": (9, 2, -1),
    "UnregisterController.controller_id": (1, 9, -1),
    "DeleteRecords.offset": (1, 2, -1, 0, 3, 4, -2),
    "key_type": (0, 0, 0, 2, 3, -1),
    "FindCoordinator.key": GROUPS,
    "coordinator_keys": GROUPS,
    "transactional_id": (None,),
    "InitProducerId.transactional_id": (None, None, TRANSACTIONAL_ID, ""),
    "Produce.transactional_id": (None, None, None, TRANSACTIONAL_ID),
    "v3_and_below_producer_epoch": (0, 0, 1, -1),
    "AddPartitionsToTxn.producer_epoch": (0, 0, 1, -1),
    "AddOffsetsToTxn.producer_epoch": (0, 0, 1, -1),
    "EndTxn.producer_epoch": (0, 0, 1, -1),
    "TxnOffsetCommit.producer_epoch": (0, 0, 1, -1),
    "WriteTxnMarkers.producer_epoch": (0, 0, 1, -1),
    "coordinator_epoch": (0, 0, 1, -1),
    "ListTransactions.state_filters": ("Ongoing", "Empty", "ongoing", "bogus"),
    "producer_id": (-1, -1, "producer_id#0", 7_000_001, -2),
    "producer_epoch": (-1, -1, 0, 1, -2),
    "transaction_timeout_ms": (1000, 60_000, 0, -1, 2_000_000_000),
    "states_filter": ("Stable", "Empty", "stable", "bogus"),
    "types_filter": ("classic", "Consumer", "bogus"),
    "acks": (-1, 1, 0, 2, -2),
    "num_partitions": (1, 2, 3, -1, 0, -2),
    "replication_factor": (1, 1, -1, 2, 0, -2),
    "count": (3, 4, 2, 1, 0, -1, 20_000),
    "election_type": (0, 1, 2, -1),
    "mechanism": (1, 1, 2, 0, 3, -1),
    "SaslHandshake.mechanism": ("PLAIN", "SCRAM-SHA-256", "GSSAPI", "bogus", ""),
    "auth_bytes": (
        "\0alice\0alice-secret",
        "\0alice\0wrong",
        "bob\0alice\0alice-secret",
        "",
        "bogus",
        {"hex": "ff00ff"},
    ),
    "iterations": (4096, 4096, 8192, 4095, 16_384, 16_385, 0),
    "salt": ("salt", ""),
    "salted_password": ({"hex": "0b" * 32}, ""),
    "user": USERS,
    "AlterUserScramCredentials.name": USERS,
    "DescribeUserScramCredentials.name": ("~u", "~u", "~v", "alice", ""),
    "match_type": (0, 0, 1, 2, 3),
    "entity_type": ("user", "user", "client-id", "ip", "bogus", ""),
    "match": ("~u", "~c", None, ""),
    "client_software_name": ("client", "a-b.c", "bad name", "", "-"),
    "client_software_version": ("1.0", "bad version", ""),
    "endpoint_type": (1, 1, 2, 3),
    "resource_types": (TOPIC, GROUP, CLIENT_METRICS, BROKER, BROKER_LOGGER, 0, 1, 3),
    "response_partition_limit": (2000, 1, 0, -1),
    "config_operation": (0, 1, 2, 3, 4, -1),
    "replicas": (1, 1, 1, 2, 3, 4, -1),
    "max_num_offsets": (1, 0),
}

ENTITY_FIELDS: Mapping[str, Sequence[Any]] = {
    **STREAMS_FIELDS,
    "topicName": TOPICS,
    "groupId": GROUPS,
    "brokerId": BROKERS,
    "producerId": (-1, "producer_id#0", 7_000_001),
    "transactionalId": (TRANSACTIONAL_ID, TRANSACTIONAL_ID, "~y", ""),
}
"""Values by Kafka's `entityType`."""

_PARTITION_FIELDS = frozenset(
    {"partition", "partitions", "partition_index", "partition_indexes", "index"}
)
_TYPES: Mapping[str, Sequence[Any]] = {
    "bool": (False, True),
    "int8": (0, 1, -1, 127),
    "int16": (0, 1, -1),
    "int32": (0, 1, -1, 1000),
    "int64": (0, 1, -1, 1000),
    "uint16": (0, 1),
    "uint32": (0, 1),
    "float64": (0.0, 1.0, -1.0),
    "string": ("", "a", "~a"),
    "bytes": ("", "a"),
    "uuid": ("topic_id#0", "topic_id#9"),
}


def leaf(api: str, field: Any, *, is_nullable: bool) -> SearchStrategy[Any]:
    """Return the values of a field that has no fields itself."""
    values = list(_leaf_values(api, field))
    if is_nullable and None not in values:
        values.append(None)
    elif not is_nullable and None in values:
        values = [value for value in values if value is not None] or ["~x"]
    return st.sampled_from(values)


def _leaf_values(api: str, field: Any) -> Sequence[Any]:
    specific = FIELDS.get(f"{api}.{field.name}")
    if specific is not None:
        return specific
    if field._entity_type in ENTITY_FIELDS and field.name not in FIELDS:
        return ENTITY_FIELDS[field._entity_type]
    if field.name in _PARTITION_FIELDS:
        return PARTITIONS
    return FIELDS.get(field.name) or _TYPES[field.type_str.removeprefix("[]")]


@st.composite
def config_resources(draw: st.DrawFn, *, is_incremental: bool) -> dict[str, Any]:
    """Return an entry of AlterConfigs or IncrementalAlterConfigs."""
    resource_type, name = draw(st.sampled_from(RESOURCES))
    pairs = st.sampled_from(_CONFIGS.get(resource_type, TOPIC_CONFIGS))
    configs = []
    for key, value in draw(st.lists(pairs, max_size=2)):
        config: dict[str, Any] = {"name": key, "value": value}
        if is_incremental:
            config["config_operation"] = draw(st.sampled_from((0, 0, 0, 1, 2, 3, 4, -1)))
        configs.append(config)
    return {"resource_type": resource_type, "resource_name": name, "configs": configs}


@st.composite
def described_resources(draw: st.DrawFn) -> dict[str, Any]:
    """Return an entry of DescribeConfigs."""
    resource_type, name = draw(st.sampled_from((*RESOURCES, (BROKER, "1"), (BROKER, ""))))
    keys = draw(st.sampled_from(DESCRIBED_KEYS))
    if resource_type == BROKER:
        keys = draw(
            st.sampled_from((("log.retention.ms",), ("no.such.key",), ("log.cleaner.threads",)))
        )
    return {
        "resource_type": resource_type,
        "resource_name": name,
        "configuration_keys": None if keys is None else list(keys),
    }


@st.composite
def quota_entries(draw: st.DrawFn) -> dict[str, Any]:
    """Return an entry of AlterClientQuotas."""
    entity = draw(st.sampled_from(ENTITIES))
    op = st.fixed_dictionaries(
        {
            "key": st.sampled_from(QUOTA_KEYS),
            "value": st.sampled_from(QUOTA_VALUES),
            "remove": st.sampled_from((False, False, True)),
        }
    )
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
        "ops": draw(st.lists(op, max_size=2)),
    }


def topic_configs() -> SearchStrategy[list[dict[str, Any]]]:
    """Return the configs of a topic in CreateTopics."""
    pairs = st.sampled_from(TOPIC_CONFIGS)
    return st.lists(pairs.map(lambda pair: {"name": pair[0], "value": pair[1]}), max_size=2)


STRUCTS: Mapping[str, SearchStrategy[Any]] = {
    **STREAMS_STRUCTS,
    "CreateTopics.configs": topic_configs(),
    "AlterConfigs.resources": st.lists(config_resources(is_incremental=False), max_size=2),
    "IncrementalAlterConfigs.resources": st.lists(
        config_resources(is_incremental=True), max_size=2
    ),
    "DescribeConfigs.resources": st.lists(described_resources(), max_size=2),
    "AlterClientQuotas.entries": st.lists(quota_entries(), max_size=2),
    "JoinGroup.protocols": st.sampled_from(
        (
            [{"name": "range", "metadata": SUBSCRIPTION}],
            [{"name": "range", "metadata": ""}],
            [{"name": "range", "metadata": SUBSCRIPTION}, {"name": "other", "metadata": "x"}],
            [{"name": "", "metadata": ""}],
            [],
        )
    ),
}
"""Values of arrays whose fields belong together, by `API.field`."""
