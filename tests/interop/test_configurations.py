"""Configurations of Apache Kafka with its default features, and of our broker, key by key."""

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from broker.config.broker_config import BROKER_KEYS
from broker.config.release_keys import is_known
from mock_kafka import MockKafka
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_unsigned_varint
from protocol.configs import ConfigOperation, ResourceType
from protocol.errors import ErrorCode
from scenarios.clients.deadline import DEADLINE_S, Deadline
from scenarios.clients.java import java_command
from scenarios.maven import CannotRunError, fetch_jars
from tests.batches import altered, make_batch
from tests.broker.handlers.refused_changes import REFUSED_CHANGES, RefusedChange
from tests.interop.apache_kafka import VERSION, ApacheKafka
from tests.interop.raw_client import RawClient

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("jvm")]

INTERVAL = ".assignment.interval.ms"
"""The end of keys whose default is 1000 in Kafka and 0 here."""

SET, DELETE, APPEND, SUBTRACT = ConfigOperation
# Started with values that other keys inherit in another unit.
PROPERTIES = {
    "broker.rack": "r",
    "log.roll.hours": "50",
    "log.flush.scheduler.interval.ms": "70000",
    "group.consumer.session.timeout.ms": "46000",
}
# What the fixture must set, what depends on the process, and our documented differences.
DIFFERENT = {
    "advertised.listeners": "ports",
    "controller.quorum.voters": "ports",
    "group.initial.rebalance.delay.ms": "compatibility.md",
    "group.streams.assignment.interval.ms": "compatibility.md",
    "group.streams.initial.rebalance.delay.ms": "compatibility.md",
    "inter.broker.listener.name": "set for the real broker",
    "listener.security.protocol.map": "set for the real broker",
    "listeners": "ports",
    "log.dirs": "directories",
    "offsets.topic.replication.factor": "set for the real broker",
    "sasl.enabled.mechanisms": "compatibility.md",
    "ssl.keystore.location": "set for the real broker",
    "ssl.keystore.password": "set for the real broker",
    "ssl.keystore.type": "compatibility.md",
    "ssl.truststore.type": "compatibility.md",
}


ONE_REPLICA = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
"""What the fixture of Apache Kafka sets, which has one broker."""


class Pair(NamedTuple):
    """Apache Kafka of a release, and our broker that behaves as it."""

    release: str
    kafka: ApacheKafka
    ours: MockKafka

    @property
    def addresses(self) -> tuple[str, str]:
        """Where Kafka listens, and where we do."""
        return self.kafka.bootstrap_servers, self.ours.bootstrap_servers


@pytest.fixture(scope="module")
def pair_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Pair]]:
    """Return a function that starts both sides of a release with its first call."""
    with ExitStack() as started:

        @cache
        def start(release: str) -> Pair:
            kafka = ApacheKafka(
                tmp_path_factory.mktemp("apache-kafka-configs"),
                version=f"{release}.0",
                features={},
                properties=PROPERTIES,
            )
            kafka.start()
            started.callback(kafka.stop)
            config = PROPERTIES | ONE_REPLICA | {"broker.api.versions": release}
            pair = Pair(release, kafka, started.enter_context(MockKafka(config=config)))
            for address in pair.addresses:
                create_topic(address)
            return pair

        yield start


@pytest.fixture
def pair(release: str, pair_of: Callable[[str], Pair]) -> Pair:
    try:
        return pair_of(release)
    except CannotRunError as error:
        pytest.skip(str(error))


of_both_releases = pytest.mark.parametrize("release", REFUSED_CHANGES)


def create_topic(address: str) -> Any:
    request_class = messages.request_class(ApiKey.CREATE_TOPICS)
    topic = request_class.CreatableTopic(
        name="t", num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )
    request = request_class(version=5, topics=[topic], timeout_ms=10_000, validate_only=False)
    response = ask(address, request, ApiKey.CREATE_TOPICS, 5)
    (created,) = response.topics
    assert created.error_code == ErrorCode.NONE
    return created


def ask(address: str, request: Any, api_key: ApiKey, version: int) -> Any:
    with RawClient(address) as client:
        return client.ask(request, messages.response_class(api_key), api_key, version)


def change(
    address: str, kind: int, name: str, operations: Sequence[tuple[str, int, str | None]]
) -> tuple[int, str | None]:
    request_class = messages.request_class(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    resource_class = request_class.AlterConfigsResource
    resource = resource_class(
        resource_type=kind,
        resource_name=name,
        configs=[
            resource_class.AlterableConfig(name=key, config_operation=operation, value=text)
            for key, operation, text in operations
        ],
    )
    request = request_class(version=1, resources=[resource], validate_only=False)
    response = ask(address, request, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1)
    (result,) = response.responses
    return result.error_code, result.error_message


def describe(address: str, kind: int, name: str) -> tuple[int, str | None, list[Any]]:
    """Return error code, message and keys: name, value, flags, type and synonyms of each."""
    request_class = messages.DescribeConfigsRequest
    resource = request_class.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None
    )
    request = request_class(
        version=4, resources=[resource], include_synonyms=True, include_documentation=False
    )
    response = ask(address, request, ApiKey.DESCRIBE_CONFIGS, 4)
    (result,) = response.results
    entries = [
        (
            entry.name,
            entry.value,
            entry.read_only,
            entry.is_sensitive,
            entry.config_source,
            entry.config_type,
            [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms],
        )
        for entry in result.configs
        if not is_of_one_side(entry.name)
    ]
    return result.error_code, result.error_message, entries


def is_of_one_side(name: str) -> bool:
    is_ours = name in BROKER_KEYS and BROKER_KEYS[name].is_mock_only
    # Of a group's key we have another default where we have one for the broker's.
    is_different = name in DIFFERENT or f"group.{name}" in DIFFERENT or name.endswith(INTERVAL)
    return is_ours or is_different or name.startswith("listener.name.")


def settle(address: str, kind: int, name: str, changes: list[tuple[str, str | None]]) -> None:
    """Set keys, or delete those with None."""
    operations = [(key, DELETE if text is None else SET, text) for key, text in changes]
    assert change(address, kind, name, operations) == (ErrorCode.NONE, None)


CHANGES: dict[str, tuple[int, str, list[tuple[str, str | None]]]] = {
    "nothing": (ResourceType.TOPIC, "t", []),
    "a topic": (
        ResourceType.TOPIC,
        "t",
        [("retention.ms", " 5000"), ("cleanup.policy", "compact")],
    ),
    "a number": (ResourceType.TOPIC, "t", [("min.cleanable.dirty.ratio", "25e-5")]),
    "all brokers": (ResourceType.BROKER, "", [("log.retention.ms", "6000"), ("a.plugin", "x")]),
    "one broker": (
        ResourceType.BROKER,
        "1",
        [
            ("log.roll.ms", "7000"),
            ("a.plugin", "y"),
            ("max.connections", "99"),
            ("leader.replication.throttled.rate", "1000000"),
            ("listener.name.plaintext.max.connections", "7"),
            ("metric.reporters", ""),
        ],
    ),
    "a group": (ResourceType.GROUP, "g", [("consumer.session.timeout.ms", "50000")]),
    "client metrics": (ResourceType.CLIENT_METRICS, "m", [("interval.ms", "100")]),
}
RESOURCES = [
    (ResourceType.TOPIC, "t"),
    (ResourceType.TOPIC, "missing"),
    (ResourceType.BROKER, "1"),
    (ResourceType.BROKER, ""),
    (ResourceType.GROUP, "g"),
    (ResourceType.CLIENT_METRICS, "m"),
]


@of_both_releases
@pytest.mark.parametrize("name", CHANGES)
def test_resources_are_described_alike(name: str, pair: Pair) -> None:
    kind, resource_name, changes = CHANGES[name]
    for address in pair.addresses:
        settle(address, kind, resource_name, changes)
    try:
        for resource in RESOURCES:
            expected = describe(pair.ours.bootstrap_servers, *resource)
            # Apache Kafka's broker follows its controller.
            soon = time.monotonic() + DEADLINE_S
            while describe(pair.kafka.bootstrap_servers, *resource) != expected:
                if time.monotonic() > soon:
                    break
            assert describe(pair.kafka.bootstrap_servers, *resource) == expected, resource
    finally:
        for address in pair.addresses:
            settle(address, kind, resource_name, [(key, None) for key, _ in changes])


PROVIDER = "config.providers.f.class"
PROVIDER_CLASS = "org.apache.kafka.common.config.provider.FileConfigProvider"


@pytest.mark.parametrize("release", ["4.4"])
def test_values_of_a_file_are_described_alike(pair: Pair, tmp_path: Path) -> None:
    """Kafka checks a value of a change with the providers of the change."""
    path = tmp_path / "limits.properties"
    path.write_text("limit=77\nword=many\n")
    names = {"config.providers", PROVIDER, "max.connections"}
    providers = [("config.providers", SET, "f"), (PROVIDER, SET, PROVIDER_CLASS)]

    def outcomes(address: str) -> Iterator[object]:
        for operations in (
            [("max.connections", SET, f"${{f:{path}:limit}}")],
            [*providers, ("max.connections", SET, f"${{f:{path}:word}}")],
            [*providers, ("max.connections", SET, f"${{f:{path}:nothing}}")],
            [*providers, ("max.connections", SET, f"${{f:{path}.none:limit}}")],
            [("config.providers", SET, "f"), (PROVIDER, SET, "org.example.Vault")],
            [*providers, ("max.connections", SET, f"${{f:{path}:limit}}")],
        ):
            yield change(address, ResourceType.BROKER, "1", operations)

    def described(address: str) -> list[object]:
        _, _, entries = describe(address, ResourceType.BROKER, "1")
        return [entry for entry in entries if entry[0] in names]

    try:
        kafkas, ours = (list(outcomes(address)) for address in pair.addresses)
        assert ours == kafkas
        kafka_address, our_address = pair.addresses
        soon = time.monotonic() + DEADLINE_S
        while described(kafka_address) != described(our_address) and time.monotonic() < soon:
            pass
        assert described(our_address) == described(kafka_address)
    finally:
        for address in pair.addresses:
            settle(address, ResourceType.BROKER, "1", [(name, None) for name in sorted(names)])


@of_both_releases
def test_the_keys_that_are_not_compared_are_described_by_both(
    pair: Pair,
) -> None:
    names = {
        name
        for name in DIFFERENT
        if is_known(name, tuple(int(number) for number in pair.release.split(".")))
    }
    for address in pair.addresses:
        request_class = messages.DescribeConfigsRequest
        resource = request_class.DescribeConfigsResource(
            resource_type=ResourceType.BROKER,
            resource_name="1",
            configuration_keys=sorted(names),
        )
        request = request_class(
            version=4, resources=[resource], include_synonyms=False, include_documentation=False
        )
        (result,) = ask(address, request, ApiKey.DESCRIBE_CONFIGS, 4).results
        assert {entry.name for entry in result.configs} == names


@of_both_releases
def test_a_new_topic_is_described_alike(pair: Pair) -> None:
    request_class = messages.request_class(ApiKey.CREATE_TOPICS)
    configs = [request_class.CreatableTopic.CreatableTopicConfig(name="segment.ms", value="5")]
    topic = request_class.CreatableTopic(
        name="trial", num_partitions=1, replication_factor=1, assignments=[], configs=configs
    )
    request = request_class(version=5, topics=[topic], timeout_ms=10_000, validate_only=True)
    described = []
    for address in pair.addresses:
        (created,) = ask(address, request, ApiKey.CREATE_TOPICS, 5).topics
        described.append(
            [
                (entry.name, entry.value, entry.config_source, entry.read_only, entry.is_sensitive)
                for entry in created.configs
            ]
        )

    assert described[1] == described[0]


KEYLESS = make_batch(b"a", b"b", b"c", b"d", key=None)
REFUSED_BATCHES = {
    "no keys": KEYLESS,
    "control": altered(make_batch(b"a", key=b"k"), 21, ">h", 32),
    "base offset": altered(make_batch(b"a", key=b"k"), 0, ">q", 5),
    "far ahead": make_batch(b"a", key=b"k", timestamps=[4_000_000_000_000]),
    "far ahead, without a key": make_batch(b"a", key=None, timestamps=[4_000_000_000_000]),
    "two batches": make_batch(b"a", key=b"k") * 2,
}


@of_both_releases
@pytest.mark.parametrize("name", REFUSED_BATCHES)
def test_a_refused_batch_gets_the_same_error(name: str, pair: Pair) -> None:
    answers = []
    for address in pair.addresses:
        settle(address, ResourceType.TOPIC, "t", [("cleanup.policy", "compact")])
        deadline = Deadline()
        while produce(address, KEYLESS)[0] == ErrorCode.NONE and deadline.holds("compaction"):
            pass
        answers.append(produce(address, REFUSED_BATCHES[name]))
        settle(address, ResourceType.TOPIC, "t", [("cleanup.policy", None)])

    assert answers[1] == answers[0]
    assert answers[0][0] != ErrorCode.NONE


@of_both_releases
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compressed_records_have_the_same_limit(codec: str, release: str, pair: Pair) -> None:
    name = "max.decompressed.message.bytes"
    sizes = (100, 500, 2_000_000)  # the last one is above what our broker decompresses at once
    batches = [make_batch(b"a", b"v" * size, b"b", codec=codec) for size in sizes]
    answers = []
    for address in pair.addresses:
        change(address, ResourceType.TOPIC, "t", [(name, SET, "300"), (LARGEST, SET, "100000")])
        deadline = Deadline()
        while release != "4.1" and produce(address, EXCESSIVE)[0] == ErrorCode.NONE:
            assert deadline.holds("the limit")
        answers.append([produce(address, batch)[:2] for batch in batches])
        change(address, ResourceType.TOPIC, "t", [(name, DELETE, None), (LARGEST, DELETE, None)])

    assert answers[1] == answers[0]
    is_limited = release == "4.4" and codec != "none"
    assert (answers[0][1][0] == ErrorCode.INVALID_RECORD) == is_limited


LARGEST = "max.message.bytes"
EXCESSIVE = make_batch(b"v" * 1000, codec="gzip")


@of_both_releases
@pytest.mark.parametrize("count", [10_000, 10_001])
def test_a_request_may_have_the_same_number_of_tagged_fields(
    count: int, release: str, pair: Pair
) -> None:
    body = bytes(messages.MetadataRequest(version=9, topics=[]).encode(version=9))
    tagged = encode_unsigned_varint(count) + b"\x63\x00" * count
    closed = []
    for address in pair.addresses:
        with RawClient(address) as client:
            client.send_body(ApiKey.METADATA, 9, body[:-1] + tagged, is_flexible=True)
            closed.append(client.is_closed_by_peer())

    assert closed == [release == "4.4" and count > 10_000] * 2


def produce(address: str, batch: bytes) -> tuple[int, str | None, list[tuple[int, str]]]:
    """Return error code, message and the errors of records; times are masked."""
    request_class = messages.request_class(ApiKey.PRODUCE)
    topic_class = request_class.TopicProduceData
    partition = topic_class.PartitionProduceData(index=0, records=batch)
    topic = topic_class(name="t", partition_data=[partition])
    request = request_class(
        version=9, transactional_id=None, acks=-1, timeout_ms=5000, topic_data=[topic]
    )
    response = ask(address, request, ApiKey.PRODUCE, 9)
    (answer,) = response.responses[0].partition_responses
    errors = [
        (error.batch_index, re.sub(r"\[-?\d+, -?\d+\]", "[]", error.batch_index_error_message))
        for error in answer.record_errors
    ]
    return answer.error_code, answer.error_message, errors


@pytest.mark.parametrize(
    ("release", "refused"),
    [(release, change) for release, changes in REFUSED_CHANGES.items() for change in changes],
    ids=str,
)
def test_a_refused_change_gets_the_same_error(refused: RefusedChange, pair: Pair) -> None:
    expected = (refused.error_code, refused.error_message)
    request = (refused.resource_type, refused.resource_name, refused.operations)

    for address in pair.addresses:
        assert change(address, *request) == expected


def test_a_throttled_reassignment_runs_with_the_tool_of_kafka(tmp_path: Path) -> None:
    artifacts = (
        f"org.apache.kafka:kafka_2.13:{VERSION}",
        f"org.apache.kafka:kafka-tools:{VERSION}",
        "org.slf4j:slf4j-simple:1.7.36",
    )
    try:
        jars = fetch_jars(f"kafka-tools-{VERSION}", artifacts)
    except CannotRunError as error:
        pytest.skip(str(error))
    plan = {"topic": "t", "partition": 0, "replicas": [2, 1]}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"version": 1, "partitions": [plan]}))

    def run_tool(servers: str, *arguments: str) -> str:
        command = [
            *java_command(f"{jars}/*"),
            "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
            *("--bootstrap-server", servers, "--reassignment-json-file", str(path), *arguments),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
        return done.stdout

    def rates(kafka: MockKafka) -> set[str]:
        server = kafka.bootstrap_servers_list[0]
        _, _, entries = describe(server, ResourceType.BROKER, "0")
        return {f"{entry[0]}={entry[1]}" for entry in entries if "throttled.rate" in entry[0]}

    with MockKafka(brokers=3, config={"node.id": 0}) as kafka:
        kafka.create_topic("t", 1, 2)
        printed = run_tool(kafka.bootstrap_servers, "--execute", "--throttle", "5000000")
        assert "The inter-broker throttle limit was set to 5000000 B/s" in printed
        assert rates(kafka) == {
            "leader.replication.throttled.rate=5000000",
            "follower.replication.throttled.rate=5000000",
        }
        printed = run_tool(kafka.bootstrap_servers, "--verify")
        assert "Reassignment of partition t-0 is completed." in printed
        assert "Clearing broker-level throttles on brokers 0,1,2" in printed
        assert rates(kafka) == set()
