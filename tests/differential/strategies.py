"""Hypothesis strategies for conversations, from the schemas of the requests.

A conversation of an API prepares something (a topic, records, a group member), sends requests of
this API in any version, and looks at what they left behind.
"""

import struct
from dataclasses import dataclass
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from broker.authorization.checks import Check
from broker.handlers.k03_metadata import AUTO_CREATION_CHOICE_VERSION_MIN
from protocol import messages
from protocol.message_schema import schema_of
from tests.differential.authorization_rules import CLIENTS, rules
from tests.differential.batch_values import batches, stored_form
from tests.differential.conversation import (
    RELEASE,
    Connection,
    Conversation,
    Send,
    SendBytes,
    Step,
)
from tests.differential.preparations import (
    AFTERWARDS,
    COORDINATED,
    DEFAULT_PREPARATIONS,
    PREPARATIONS,
    REPLICATED_TOPICS,
    TOPICS,
    Versions,
    send,
)
from tests.differential.values import STRUCTS, leaf


@dataclass(frozen=True, slots=True)
class Subject:
    """The API that conversations are about, and the clusters that they are for."""

    api: str
    versions: Versions
    brokers: int = 1
    share_version: int = 0
    release: str = RELEASE
    checks: tuple[Check, ...] = ()
    """What the API is authorized for. With any, clients who need rules send its requests."""


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
    schema = schema_of(messages.request_class(messages.api_key_of(api)))
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
SHARE_APIS = frozenset(
    {
        "AlterShareGroupOffsets",
        "ApiVersions",
        "DeleteGroups",
        "DeleteShareGroupOffsets",
        "DeleteShareGroupState",
        "DescribeGroups",
        "DescribeShareGroupOffsets",
        "FindCoordinator",
        "InitializeShareGroupState",
        "ListGroups",
        "ReadShareGroupState",
        "ReadShareGroupStateSummary",
        "ShareAcknowledge",
        "ShareFetch",
        "ShareGroupDescribe",
        "ShareGroupHeartbeat",
        "WriteShareGroupState",
    }
)
"""APIs that clusters with share groups are for."""


_WITHOUT_DAMAGE = 14
_SASL_APIS = frozenset({"SaslHandshake", "SaslAuthenticate"})


@st.composite
def conversations(draw: st.DrawFn, subject: Subject) -> Conversation:
    """Return a conversation about an API with one broker, or with several."""
    api, versions = subject.api, subject.versions
    steps: list[Step] = []
    connections: dict[str, Connection] = {}
    if api in _SASL_APIS:
        if draw(st.sampled_from((True, True, True, False))):
            connections["a"] = Connection(listener="SASL_PLAINTEXT")
        if api == "SaslAuthenticate":
            steps += draw(_requests("SaslHandshake", versions, 1))
    for prepare in PREPARATIONS.get(api, DEFAULT_PREPARATIONS):
        if prepare in COORDINATED and subject.brokers > 1:
            continue
        if draw(st.sampled_from((False, True, True, True))):
            steps += prepare(versions)
    if api == "Produce" and draw(st.booleans()):
        steps.append(send(versions, "IncrementalAlterConfigs", 0, resources=[draw(stored_form())]))
    requests = draw(_requests(api, versions, 3))
    if subject.checks:
        steps.append(draw(rules(subject.checks)))
        connections |= CLIENTS
        requests = [draw(_from_a_client(request)) for request in requests]
    steps += requests
    for name, version, fields in AFTERWARDS.get(api, ()):
        if draw(st.booleans()):
            steps.append(send(versions, name, version, **fields))
    if subject.brokers > 1:
        connections = {"b": Connection(broker=2)}
        steps = [draw(_replicated(step, api)) for step in steps]
    return Conversation(
        tuple(steps), connections, subject.brokers, subject.share_version, subject.release
    )


@st.composite
def _from_a_client(draw: st.DrawFn, request: Step) -> Step:
    return msgspec.structs.replace(request, connection=draw(st.sampled_from(sorted(CLIENTS))))


@st.composite
def _replicated(draw: st.DrawFn, step: Step, api: str) -> Step:
    """Return the step for several brokers: with replicas, and perhaps to the second broker."""
    if not isinstance(step, Send):
        return step
    if step.arguments.get("topics") is TOPICS:
        return msgspec.structs.replace(
            step, arguments=step.arguments | {"topics": REPLICATED_TOPICS}
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
