"""Heartbeats and descriptions of streams groups, on Apache Kafka 4.4 and here: the same answers."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from mock_kafka import MockKafka
from protocol import messages
from protocol.api_keys import ApiKey
from scenarios.clients.confluent_kafka import create_topic
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.raw_client import RawClient
from tests.interop.started_kafka import started

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("jvm")]

VERSION = "4.4.0"
# Kafka's heartbeats would wait for other members, which is a deliberate difference.
KAFKA = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.min.session.timeout.ms": "1000",
}
OURS: dict[str, str | int] = {
    "broker.api.versions": "4.4",
    "group.streams.min.session.timeout.ms": 1000,
}
TRIES = 50

_Request = messages.StreamsGroupHeartbeatRequest
_Topology = _Request.Topology
_Subtopology = _Topology.Subtopology
_Topic = _Subtopology.TopicInfo


def _subtopology(number: str, sources: list[str], **fields: Any) -> Any:
    defaults: dict[str, Any] = {
        "subtopology_id": number,
        "source_topics": sources,
        "source_topic_regex": [],
        "state_changelog_topics": [],
        "repartition_sink_topics": [],
        "repartition_source_topics": [],
        "copartition_groups": [],
    }
    return _Subtopology(version=1, **(defaults | fields))


def _topic(name: str, **configs: str) -> Any:
    entries = [
        _Topic.KeyValue(version=1, key=key.replace("_", "."), value=value)
        for key, value in configs.items()
    ]
    return _Topic(version=1, name=name, partitions=0, replication_factor=0, topic_configs=entries)


def _topology(topic: str, *, epoch: int = 0, source: str | None = None) -> Any:
    """Return a topology with a repartition topic and a changelog."""
    return _Topology(
        version=1,
        epoch=epoch,
        subtopologies=[
            _subtopology("0", [source or topic], repartition_sink_topics=[f"{topic}-words"]),
            _subtopology(
                "1",
                [],
                repartition_source_topics=[_topic(f"{topic}-words", retention_ms="-1")],
                state_changelog_topics=[_topic(f"{topic}-counts", cleanup_policy="compact")],
            ),
        ],
    )


class Conversation:
    """The members of one group with one cluster."""

    def __init__(self, client: RawClient, servers: str, topic: str) -> None:
        self._client = client
        self.topic = topic
        self.answers: list[Any] = []
        self._admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        create_topic(servers, topic, partition_count=4)

    def _ask(self, request: Any, api_key: ApiKey) -> Any:
        return self._client.ask(request, messages.response_class(api_key), api_key, 1)

    def heartbeat(self, member: str, epoch: int, **fields: Any) -> Any:
        """Send a heartbeat, and again while the coordinator is not there yet."""
        defaults: dict[str, Any] = {
            "group_id": self.topic,
            "member_id": member,
            "member_epoch": epoch,
            "endpoint_information_epoch": 0,
        }
        if epoch == 0:
            defaults |= {
                "rebalance_timeout_ms": 60_000,
                "topology": _topology(self.topic),
                "active_tasks": [],
                "standby_tasks": [],
                "warmup_tasks": [],
                "process_id": f"process-{member}",
            }
        request = _Request(**(defaults | fields))
        for _ in range(TRIES):
            response = self._ask(request, ApiKey.STREAMS_GROUP_HEARTBEAT)
            if response.error_code not in {14, 15, 16}:
                break
            self._find_coordinator()
            time.sleep(0.2)
        self.answers.append(response.to_dict())
        return response

    def _find_coordinator(self) -> None:
        request = messages.FindCoordinatorRequest(key=self.topic, key_type=0)
        response_class = messages.FindCoordinatorResponse
        self._client.ask(request, response_class, ApiKey.FIND_COORDINATOR, 3)

    def until(self, member: str, epoch: int, *, is_ready: bool = True) -> Any:
        """Heartbeat when internal topics exist until the coordinator knows them.

        Only the last answer is kept. A heartbeat before would begin an epoch for each topic.
        """
        expected = {f"{self.topic}-words", f"{self.topic}-counts"}
        for _ in range(TRIES):
            if expected <= self._admin.list_topics(timeout=10).topics.keys():
                break
            time.sleep(0.2)
        time.sleep(0.5)
        for _ in range(TRIES):
            response = self.heartbeat(member, epoch)
            if bool(response.status) is not is_ready:
                break
            self.answers.pop()
            time.sleep(0.2)
        return response

    def describe(self, group_id: str | None = None) -> None:
        """Describe a group."""
        request = messages.StreamsGroupDescribeRequest(
            group_ids=[self.topic if group_id is None else group_id],
            include_authorized_operations=True,
            include_topology_description=True,
        )
        self.answers.append(self._ask(request, ApiKey.STREAMS_GROUP_DESCRIBE).to_dict())


def _tasks(response: Any) -> dict[str, Any]:
    """Return what a member that was given tasks reports."""
    return {
        name: [
            _Request.TaskIds(version=1, subtopology_id=t.subtopology_id, partitions=t.partitions)
            for t in getattr(response, name)
        ]
        for name in ("active_tasks", "standby_tasks", "warmup_tasks")
    }


def _converse(chat: Conversation) -> None:
    """Two members, one static; leaving and coming back; mistakes."""
    topic = chat.topic
    chat.describe()
    chat.heartbeat("a", 1)
    chat.heartbeat("a", 0, member_id="")
    chat.heartbeat("a", 0, topology=_topology(topic, source="no-such-topic"), group_id="other")
    first = chat.heartbeat("a", 0)
    chat.describe()
    ready = chat.until("a", first.member_epoch)
    chat.describe()
    chat.heartbeat("a", ready.member_epoch, **_tasks(ready))
    endpoint = _Request.Endpoint(version=1, host="h", port=80)
    tag = _Request.KeyValue(version=1, key="zone", value="z")
    chat.heartbeat("b", 0, instance_id="i", user_endpoint=endpoint, client_tags=[tag])
    chat.describe()
    revoking = chat.heartbeat("a", ready.member_epoch, **_tasks(ready))
    released = chat.heartbeat("a", revoking.member_epoch, **_tasks(revoking))
    given = chat.heartbeat("b", released.member_epoch, instance_id="i")
    chat.describe()
    chat.heartbeat("a", ready.member_epoch - 1, **_tasks(ready))
    chat.heartbeat("a", 99)
    chat.heartbeat("x", 3)
    chat.heartbeat("x", 0, topology=_topology(topic, epoch=1))
    chat.heartbeat("x", 0, instance_id="i")
    wrong = _Request.TaskIds(version=1, subtopology_id="7", partitions=[0])
    fields = {"active_tasks": [wrong], "standby_tasks": [], "warmup_tasks": []}
    chat.heartbeat("a", released.member_epoch, **fields)
    offset = _Request.TaskOffset(version=1, subtopology_id="1", partition=0, offset=5)
    chat.heartbeat("a", released.member_epoch, task_offsets=[offset], task_end_offsets=[offset])
    chat.heartbeat("b", -2, instance_id="i")
    chat.describe()
    chat.heartbeat("b2", 0, instance_id="i", process_id="process-b")
    chat.heartbeat("a", released.member_epoch, shutdown_application=True)
    chat.heartbeat("b2", given.member_epoch, instance_id="i")
    chat.describe()
    chat.heartbeat("b2", -1, instance_id="i")
    chat.heartbeat("a", -1)
    chat.describe()
    chat.heartbeat("c", 0)
    chat.heartbeat("c", -1)
    chat.describe("")


def _ordered(value: Any) -> Any:
    """Return an answer with members and topics in order: Kafka has them in that of their hashes."""
    if isinstance(value, dict):
        return {key: _ordered(entry) for key, entry in value.items()}
    if isinstance(value, list):
        found = [_ordered(entry) for entry in value]
        for key in ("member_id", "topic"):
            if found and isinstance(found[0], dict) and key in found[0]:
                found.sort(key=lambda entry: entry[key])
        return found
    return value


@pytest.fixture(scope="module")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """A broker of 4.4 with its own features; where it cannot run the skip says so."""
    folder = tmp_path_factory.mktemp("apache-kafka-streams")
    apache = ApacheKafka(folder, version=VERSION, features={}, properties=KAFKA)
    with started(apache) as kafka:
        yield kafka


def _answers(servers: str, topic: str) -> list[Any]:
    with RawClient(servers) as client:
        chat = Conversation(client, servers, topic)
        _converse(chat)
    return [_ordered(answer) for answer in chat.answers]


def test_a_conversation_has_the_answers_of_kafka(apache_kafka: ApacheKafka, topic: str) -> None:
    with MockKafka(brokers=1, config=OURS) as ours:
        answers = _answers(ours.bootstrap_servers, topic)
    expected = _answers(apache_kafka.bootstrap_servers, topic)
    for number, (found, kafkas) in enumerate(zip(answers, expected, strict=True)):
        assert found == kafkas, number
