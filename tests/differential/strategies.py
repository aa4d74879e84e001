"""Hypothesis strategies for conversations, from the schemas of the requests.

A conversation of an API prepares something (a topic, records, a group member), sends requests of
this API in any version, and looks at what they left behind.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from broker.handlers.k03_metadata import AUTO_CREATION_CHOICE_VERSION_MIN
from protocol import messages
from tests.differential.conversation import Connection, Conversation, Send, SendBytes, Step
from tests.differential.values import STRUCTS, SUBSCRIPTION, batches, leaf

Versions = Mapping[str, tuple[int, int]]
"""The versions that both clusters serve, by API."""

_OMITTED_FIELDS = frozenset(
    {"replica_state", "cluster_id", "replica_directory_id", "high_watermark"}
)
"""Tagged fields that only brokers send."""
_ENTRIES_MAX = 2
_CAN_BE_NULL = frozenset({"string", "bytes", "records"})
_WITHOUT_NULL = 19
"""Requests for each one with a null that may be wrong."""


@st.composite
def arguments(draw: st.DrawFn, api: str, version: int) -> dict[str, Any]:
    """Return the arguments of a request of this API and version."""
    schema = messages.request_class(messages.api_key_of(api))._struct
    values = draw(_struct(api, schema, version))
    if values and draw(st.sampled_from((False,) * _WITHOUT_NULL + (True,))):
        name = draw(st.sampled_from(sorted(values)))
        if schema.fields[name].is_array() or schema.fields[name].type_str in _CAN_BE_NULL:
            values[name] = None  # Also where the schema forbids it.
    return values


@st.composite
def _struct(draw: st.DrawFn, api: str, schema: Any, version: int) -> dict[str, Any]:
    values = {}
    for name, field in schema.fields.items():
        if field.for_version_q(version) and name not in _OMITTED_FIELDS:
            values[name] = draw(_field(api, field, version))
    return _drop_defaults(schema, values)


def _drop_defaults(schema: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is the schema's default, so that kept conversations are short."""
    return {
        name: value
        for name, value in values.items()
        if not (
            not schema.fields[name].is_array()
            and not schema.fields[name].is_struct()
            and type(value) is type(schema.fields[name].default)
            and value == schema.fields[name].default
        )
    }


def _field(api: str, field: Any, version: int) -> SearchStrategy[Any]:
    is_nullable = field.nullable_for_version_q(version)
    key = f"{api}.{field.name}"
    if key in STRUCTS:
        return STRUCTS[key]
    if field.type_str == "records":
        return batches()
    if field.is_struct_array():
        entries = st.lists(_struct(api, field.array_of, version), max_size=_ENTRIES_MAX)
        return _perhaps_null(entries, is_nullable)
    if field.is_struct():
        return _perhaps_null(_struct(api, field, version), is_nullable)
    if field.is_array():
        entries = st.lists(leaf(api, field, is_nullable=False), max_size=_ENTRIES_MAX)
        return _perhaps_null(entries, is_nullable)
    return leaf(api, field, is_nullable=is_nullable)


def _perhaps_null(strategy: SearchStrategy[Any], is_nullable: bool) -> SearchStrategy[Any]:
    return st.one_of(strategy, strategy, strategy, st.none()) if is_nullable else strategy


_TOPICS = (
    {"name": "~a", "num_partitions": 2, "replication_factor": 1},
    {"name": "~b", "num_partitions": 1, "replication_factor": 1},
)
_REPLICATED_TOPICS = (
    {
        "name": "~a",
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": [
            {"partition_index": 0, "broker_ids": [1, 2, 3]},
            {"partition_index": 1, "broker_ids": [2, 3, 1]},
        ],
    },
    {
        "name": "~b",
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": [{"partition_index": 0, "broker_ids": [3, 1]}],
    },
)
"""The same for three brokers: Kafka places replicas at random if it may choose."""
REPLICATED_APIS = frozenset(
    {
        "AlterPartitionReassignments",
        "DeleteRecords",
        "DescribeCluster",
        "DescribeConfigs",
        "DescribeLogDirs",
        "DescribeProducers",
        "DescribeTopicPartitions",
        "ElectLeaders",
        "Fetch",
        "ListOffsets",
        "ListPartitionReassignments",
        "Metadata",
        "OffsetForLeaderEpoch",
        "Produce",
    }
)
"""APIs that a cluster of three brokers is for."""


def _topics(versions: Versions) -> list[Step]:
    return [
        _send(
            versions,
            "CreateTopics",
            4,
            topics=_TOPICS,
            timeout_ms=30_000,
        )
    ]


def _topic_ids(versions: Versions) -> list[Step]:
    return [
        *_topics(versions),
        _send(versions, "Metadata", 12, topics=[{"name": "~a"}, {"name": "~b"}]),
    ]


def _records(versions: Versions) -> list[Step]:
    records = {"batches": [{"records": [["k", "1"], ["k", "2"], [None, "3"]]}]}
    return [_produce(versions, records)]


def _produce(versions: Versions, records: dict[str, Any]) -> Step:
    data = {"name": "~a", "partition_data": [{"index": 0, "records": records}]}
    return _send(versions, "Produce", 9, acks=-1, timeout_ms=5000, topic_data=[data])


def _producer(versions: Versions) -> list[Step]:
    batch = {
        "records": [["k", "v"]],
        "producer_id": "producer_id#0",
        "producer_epoch": 0,
        "base_sequence": 0,
    }
    return [
        _send(versions, "InitProducerId", 2, transaction_timeout_ms=60_000),
        _produce(versions, {"batches": [batch]}),
    ]


def _offsets(versions: Versions) -> list[Step]:
    partition = {"partition_index": 0, "committed_offset": 2, "committed_metadata": "m"}
    topics = [{"name": "~a", "partitions": [partition]}]
    return [_send(versions, "OffsetCommit", 8, group_id="~g", topics=topics)]


def _member(versions: Versions) -> list[Step]:
    return [
        _send(
            versions,
            "JoinGroup",
            3,
            group_id="~g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=1000,
            protocol_type="consumer",
            protocols=[{"name": "range", "metadata": SUBSCRIPTION}],
        )
    ]


def _assignment(versions: Versions) -> list[Step]:
    return [
        *_member(versions),
        _send(
            versions,
            "SyncGroup",
            2,
            group_id="~g",
            generation_id=1,
            member_id="member_id#0",
            assignments=[{"member_id": "member_id#0", "assignment": "assignment"}],
        ),
    ]


def _fetch_session(versions: Versions) -> list[Step]:
    partitions = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000_000}]
    return [
        _send(
            versions,
            "Fetch",
            11,
            session_epoch=0,
            max_bytes=1_000_000,
            topics=[{"topic": "~a", "partitions": partitions}],
        )
    ]


def _quotas(versions: Versions) -> list[Step]:
    entries = [
        {
            "entity": [{"entity_type": kind, "entity_name": name}],
            "ops": [{"key": key, "value": 1000.0}],
        }
        for kind, name, key in (
            ("user", "~u", "producer_byte_rate"),
            ("client-id", "~c", "consumer_byte_rate"),
        )
    ]
    return [_send(versions, "AlterClientQuotas", 0, entries=entries)]


def _scram(versions: Versions) -> list[Step]:
    credential = {
        "name": "~u",
        "mechanism": 1,
        "iterations": 4096,
        "salt": "salt",
        "salted_password": {"hex": "0b" * 32},
    }
    return [_send(versions, "AlterUserScramCredentials", 0, upsertions=[credential])]


def _topic_config(versions: Versions) -> list[Step]:
    config = {"name": "retention.ms", "config_operation": 0, "value": "100000000"}
    resource = {"resource_type": 2, "resource_name": "~a", "configs": [config]}
    return [_send(versions, "IncrementalAlterConfigs", 0, resources=[resource])]


Preparation = Callable[[Versions], list[Step]]

_PREPARATIONS: Mapping[str, Sequence[Preparation]] = {
    "AlterClientQuotas": (_quotas,),
    "AlterConfigs": (_topics, _topic_config),
    "AlterUserScramCredentials": (_scram,),
    "ApiVersions": (),
    "CreateTopics": (_topics,),
    "DeleteGroups": (_topics, _offsets, _assignment),
    "DeleteRecords": (_topics, _records),
    "DeleteTopics": (_topic_ids, _records),
    "DescribeClientQuotas": (_quotas,),
    "DescribeConfigs": (_topics, _topic_config),
    "DescribeGroups": (_topics, _offsets, _assignment),
    "DescribeLogDirs": (_topics, _records),
    "DescribeProducers": (_topics, _producer),
    "DescribeUserScramCredentials": (_scram,),
    "Fetch": (_topic_ids, _records, _producer, _fetch_session),
    "FindCoordinator": (_offsets,),
    "Heartbeat": (_member, _assignment),
    "IncrementalAlterConfigs": (_topics, _topic_config),
    "InitProducerId": (_topics, _producer),
    "JoinGroup": (_assignment,),
    "LeaveGroup": (_assignment,),
    "ListGroups": (_topics, _offsets, _member),
    "ListOffsets": (_topics, _records),
    "OffsetCommit": (_topic_ids, _assignment),
    "OffsetDelete": (_topics, _offsets, _assignment),
    "OffsetFetch": (_topic_ids, _offsets),
    "OffsetForLeaderEpoch": (_topics, _records),
    "Produce": (_topic_ids, _producer),
    "SaslAuthenticate": (),
    "SaslHandshake": (),
    "SyncGroup": (_member,),
}
_DEFAULT_PREPARATIONS = (_topic_ids, _records)

_METADATA = (
    "Metadata",
    9,
    {"topics": [{"name": "~a"}, {"name": "~b"}], "allow_auto_topic_creation": False},
)
_CONFIGS = (
    "DescribeConfigs",
    4,
    {"resources": [{"resource_type": 2, "resource_name": "~a", "configuration_keys": None}]},
)
_END_OFFSETS = (
    "ListOffsets",
    4,
    {
        "replica_id": -1,
        "topics": [
            {
                "name": "~a",
                "partitions": [
                    {"partition_index": 0, "timestamp": -1},
                    {"partition_index": 1, "timestamp": -1},
                ],
            }
        ],
    },
)
_ALL_RECORDS = (
    "Fetch",
    4,
    {
        "replica_id": -1,
        "max_bytes": 1_000_000,
        "topics": [
            {
                "topic": "~a",
                "partitions": [
                    {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000_000}
                ],
            }
        ],
    },
)
_GROUP = ("DescribeGroups", 4, {"groups": ["~g"]})
_COMMITTED = ("OffsetFetch", 5, {"group_id": "~g", "topics": None})
_ALL_QUOTAS = ("DescribeClientQuotas", 0, {"components": [], "strict": False})
_USERS = ("DescribeUserScramCredentials", 0, {"users": [{"name": "~u"}]})
_PRODUCERS = ("DescribeProducers", 0, {"topics": [{"name": "~a", "partition_indexes": [0]}]})

_AFTERWARDS: Mapping[str, Sequence[tuple[str, int, dict[str, Any]]]] = {
    "AlterClientQuotas": (_ALL_QUOTAS,),
    "AlterConfigs": (_CONFIGS,),
    "AlterPartitionReassignments": (_METADATA,),
    "AlterUserScramCredentials": (_USERS,),
    "CreatePartitions": (_METADATA,),
    "CreateTopics": (_METADATA, _CONFIGS),
    "DeleteGroups": (_GROUP, _COMMITTED),
    "DeleteRecords": (_END_OFFSETS, _ALL_RECORDS),
    "DeleteTopics": (_METADATA,),
    "ElectLeaders": (_METADATA,),
    "Heartbeat": (_GROUP,),
    "IncrementalAlterConfigs": (_CONFIGS,),
    "JoinGroup": (_GROUP,),
    "LeaveGroup": (_GROUP,),
    "OffsetCommit": (_COMMITTED,),
    "OffsetDelete": (_COMMITTED,),
    "Produce": (_ALL_RECORDS, _END_OFFSETS, _PRODUCERS),
    "SaslAuthenticate": (_METADATA,),
    "SyncGroup": (_GROUP,),
}
_WITHOUT_DAMAGE = 14
_SASL_APIS = frozenset({"SaslHandshake", "SaslAuthenticate"})


def _send(versions: Versions, api: str, version: int, **fields: Any) -> Send:
    low, high = versions.get(api, (version, version))
    return Send(api, min(max(version, low), high), fields)


@st.composite
def conversations(draw: st.DrawFn, api: str, versions: Versions, brokers: int = 1) -> Conversation:
    """Return a conversation about this API with one broker, or with several."""
    steps: list[Step] = []
    connections = {}
    if api in _SASL_APIS:
        if draw(st.sampled_from((True, True, True, False))):
            connections["a"] = Connection(listener="SASL_PLAINTEXT")
        if api == "SaslAuthenticate":
            steps += draw(_requests("SaslHandshake", versions, 1))
    for prepare in _PREPARATIONS.get(api, _DEFAULT_PREPARATIONS):
        if draw(st.sampled_from((False, True, True, True))):
            steps += prepare(versions)
    steps += draw(_requests(api, versions, 3))
    for name, version, fields in _AFTERWARDS.get(api, ()):
        if draw(st.booleans()):
            steps.append(_send(versions, name, version, **fields))
    if brokers > 1:
        connections = {"b": Connection(broker=2)}
        steps = [draw(_replicated(step, api)) for step in steps]
    return Conversation(tuple(steps), connections, brokers)


@st.composite
def _replicated(draw: st.DrawFn, step: Step, api: str) -> Step:
    """Return the step for several brokers: with replicas, and perhaps to the second broker."""
    if not isinstance(step, Send):
        return step
    if step.arguments.get("topics") is _TOPICS:
        return msgspec.structs.replace(
            step, arguments=step.arguments | {"topics": _REPLICATED_TOPICS}
        )
    if step.api == "Metadata":
        step = _without_auto_creation(step)
    connection = draw(st.sampled_from("aaab")) if step.api == api else "a"
    return msgspec.structs.replace(step, connection=connection)


def _without_auto_creation(step: Send) -> Send:
    """Return the request without new topics: Kafka places their replicas at random."""
    return msgspec.structs.replace(
        step,
        version=max(step.version, AUTO_CREATION_CHOICE_VERSION_MIN),
        arguments=step.arguments | {"allow_auto_topic_creation": False},
    )


@st.composite
def _requests(draw: st.DrawFn, api: str, versions: Versions, count_max: int) -> list[Step]:
    low, high = versions[api]
    requests: list[Step] = []
    for _ in range(draw(st.integers(1, count_max))):
        version = draw(st.integers(low, high))
        requests.append(Send(api, version, draw(arguments(api, version))))
    if draw(st.sampled_from((False,) * _WITHOUT_DAMAGE + (True,))):
        requests.append(draw(_damaged(api, versions)))
    return requests


@st.composite
def _damaged(draw: st.DrawFn, api: str, versions: Versions) -> SendBytes:
    """Return a request that ends too early, or has a version that nobody serves."""
    key = messages.api_key_of(api)
    low, high = versions[api]
    version = draw(st.sampled_from((low, high, high, 99, -1, low - 1)))
    body = draw(st.sampled_from(("", "00", "ff", "7fffffff", "ffffffffffffffff")))
    header = struct.pack(">hhih", key, version, 1, 1) + b"c"
    return SendBytes(header.hex() + body)
