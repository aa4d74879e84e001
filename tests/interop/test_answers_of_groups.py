"""Heartbeats and commits of groups on Apache Kafka 4.4 and here: the same answers."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from mock_kafka import MockKafka
from protocol import messages
from protocol.consumer_protocol import encode_assignment
from protocol.data_messages import ConsumerProtocolSubscription, encode_data
from scenarios.clients.confluent_kafka import create_topic
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.raw_client import RawClient
from tests.interop.started_kafka import started

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("jvm")]

VERSION = "4.4.0"
# Kafka's heartbeats would wait a second for each assignment, which is a deliberate difference.
KAFKA = {
    "group.consumer.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
LOADING = {14, 15, 16}
TRIES = 50
LONG_INTERVAL_MS = "15000"
"""An assignment interval that does not end during a test."""

_Commit = messages.OffsetCommitRequest.OffsetCommitRequestTopic


class Conversation:
    """The members of the groups of one topic with one cluster; `answers` have names for its id."""

    def __init__(self, client: RawClient, servers: str, topic: str) -> None:
        self._client = client
        self.topic = topic
        self.answers: list[Any] = []
        create_topic(servers, topic, partition_count=4)
        time.sleep(1)  # Kafka's coordinator learns of it from the metadata log
        self.names: dict[str, str] = {}
        """What has another value in every cluster, and what stands for it in answers."""
        request = messages.MetadataRequest(
            topics=[messages.MetadataRequest.MetadataRequestTopic(name=topic, version=12)],
            allow_auto_topic_creation=False,
        )
        self.topic_id = self._client.call(request, 12).topics[0].topic_id
        self.names[str(self.topic_id)] = "the topic"

    def ask(self, request: Any, version: int, *, group_id: str = "") -> Any:
        """Ask, and again while the coordinator is not there yet; keep the answer."""
        for _ in range(TRIES):
            response = self._client.call(request, version)
            if not LOADING & _error_codes(response.to_dict()):
                break
            find = messages.FindCoordinatorRequest(key=group_id, key_type=0)
            self._client.call(find, 3)
            time.sleep(0.2)
        self.answers.append(_named(response.to_dict(), self.names))
        return response

    def configure(self, key: str, value: str) -> None:
        """Set a key of the group with the name of the topic."""
        request_class = messages.IncrementalAlterConfigsRequest
        resource_class = request_class.AlterConfigsResource
        config = resource_class.AlterableConfig(
            version=1, name=key, config_operation=0, value=value
        )
        resource = resource_class(
            version=1, resource_type=32, resource_name=self.topic, configs=[config]
        )
        self.ask(request_class(resources=[resource], validate_only=False), 1)
        time.sleep(0.5)  # the coordinator of Kafka learns it from the metadata log

    def heartbeat(self, member: str, epoch: int, **fields: Any) -> Any:
        """Send a ConsumerGroupHeartbeat; `owned` are partition indexes."""
        defaults: dict[str, Any] = {"member_id": member, "member_epoch": epoch}
        if epoch == 0:
            defaults |= {"rebalance_timeout_ms": 60_000, "topic_partitions": []}
            defaults |= {"subscribed_topic_names": [self.topic]}
        owned = fields.pop("owned", None)
        request_class = messages.ConsumerGroupHeartbeatRequest
        if owned is not None:
            entry = request_class.TopicPartitions(
                version=1, topic_id=self.topic_id, partitions=list(owned)
            )
            fields["topic_partitions"] = [entry] if owned else []
        request = request_class(**({"group_id": self.topic} | defaults | fields))
        return self.ask(request, 1, group_id=self.topic)

    def describe(self) -> None:
        """Send a ConsumerGroupDescribe."""
        request = messages.ConsumerGroupDescribeRequest(
            group_ids=[self.topic], include_authorized_operations=False
        )
        self.ask(request, 1, group_id=self.topic)

    def commit(
        self, member: str, epoch: int, indexes: Sequence[int], *, note: str = "", version: int = 10
    ) -> None:
        """Send an OffsetCommit of a member."""
        partitions = [
            _Commit.OffsetCommitRequestPartition(
                version=version,
                partition_index=index,
                committed_offset=0,
                committed_leader_epoch=-1,
                committed_metadata=note,
            )
            for index in indexes
        ]
        topic = _Commit(
            version=version, name=self.topic, topic_id=self.topic_id, partitions=partitions
        )
        request = messages.OffsetCommitRequest(
            group_id=self.topic,
            generation_id_or_member_epoch=epoch,
            member_id=member,
            topics=[topic],
        )
        self.ask(request, version, group_id=self.topic)

    def join_classic(self, owned: Sequence[int], member_id: str) -> Any:
        """Send a JoinGroup of a consumer of the classic protocol."""
        entry = ConsumerProtocolSubscription.TopicPartition(
            topic=self.topic, partitions=list(owned)
        )
        subscription = ConsumerProtocolSubscription(
            topics=[self.topic], owned_partitions=[entry] if owned else []
        )
        protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol(
            version=5, name="cooperative-sticky", metadata=encode_data(subscription, 1)
        )
        request = messages.JoinGroupRequest(
            group_id=self.topic,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id=member_id,
            group_instance_id=None,
            protocol_type="consumer",
            protocols=[protocol],
        )
        return self.ask(request, 5, group_id=self.topic)

    def sync_classic(self, member_id: str, generation_id: int, given: Sequence[int] = ()) -> None:
        """Send a SyncGroup; the leader of a classic group gives itself partitions."""
        assignment = messages.SyncGroupRequest.SyncGroupRequestAssignment(
            version=3,
            member_id=member_id,
            assignment=encode_assignment({self.topic: list(given)}),
        )
        request = messages.SyncGroupRequest(
            group_id=self.topic,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=None,
            assignments=[assignment] if given else [],
        )
        self.ask(request, 3, group_id=self.topic)

    def heartbeat_classic(self, member_id: str, generation_id: int) -> None:
        """Send a Heartbeat."""
        request = messages.HeartbeatRequest(
            group_id=self.topic,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=None,
        )
        self.ask(request, 3, group_id=self.topic)

    def begin_transactions(self) -> tuple[int, int]:
        """Return producer id and epoch of a transactional producer."""
        request = messages.InitProducerIdRequest(
            transactional_id=self.topic,
            transaction_timeout_ms=60_000,
            producer_id=-1,
            producer_epoch=-1,
        )
        find = messages.FindCoordinatorRequest(key=self.topic, key_type=1)
        for _ in range(TRIES):
            self._client.call(find, 3)
            response = self._client.call(request, 4)
            if response.error_code == 0:
                break
            time.sleep(0.2)
        return response.producer_id, response.producer_epoch

    def commit_in_transaction(
        self, producer: tuple[int, int], version: int, member: str, epoch: int, index: int
    ) -> None:
        """Send a TxnOffsetCommit, which begins the transaction."""
        topic_class = messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        partition = topic_class.TxnOffsetCommitRequestPartition(
            version=version,
            partition_index=index,
            committed_offset=0,
            committed_leader_epoch=-1,
            committed_metadata="",
        )
        request = messages.TxnOffsetCommitRequest(
            transactional_id=self.topic,
            group_id=self.topic,
            producer_id=producer[0],
            producer_epoch=producer[1],
            generation_id_or_member_epoch=epoch,
            member_id=member,
            group_instance_id=None,
            topics=[
                topic_class(
                    version=version,
                    name=self.topic,
                    topic_id=self.topic_id,
                    partitions=[partition],
                )
            ],
        )
        self.ask(request, version, group_id=self.topic)

    def share_heartbeat(self, member: str, epoch: int, **fields: Any) -> Any:
        """Send a ShareGroupHeartbeat."""
        defaults: dict[str, Any] = {"member_id": member, "member_epoch": epoch}
        if epoch == 0:
            defaults["subscribed_topic_names"] = [self.topic]
        request = messages.ShareGroupHeartbeatRequest(group_id=self.topic, **(defaults | fields))
        return self.ask(request, 1, group_id=self.topic)

    def share_describe(self) -> None:
        """Send a ShareGroupDescribe."""
        request = messages.ShareGroupDescribeRequest(
            group_ids=[self.topic], include_authorized_operations=False
        )
        self.ask(request, 1, group_id=self.topic)


def _error_codes(answer: Any) -> set[int]:
    """Return all error codes in an answer."""
    if isinstance(answer, list):
        return {code for entry in answer for code in _error_codes(entry)}
    if not isinstance(answer, dict):
        return set()
    own = {answer["error_code"]} if "error_code" in answer else set()
    return own.union(*map(_error_codes, answer.values()))


def _named(answer: Any, names: Mapping[str, str]) -> Any:
    """Return an answer with these names, and with members in order."""
    if isinstance(answer, dict):
        return {key: _named(entry, names) for key, entry in answer.items()}
    if isinstance(answer, list):
        found = [_named(entry, names) for entry in answer]
        if found and isinstance(found[0], dict) and "member_id" in found[0]:
            found.sort(key=lambda entry: entry["member_id"])
        return found
    return names.get(str(answer), answer)


def _partitions(response: Any) -> list[int]:
    """Return the partitions of the topic in a heartbeat's assignment."""
    return [index for entry in response.assignment.topic_partitions for index in entry.partitions]


def late_commits(chat: Conversation) -> None:
    """A member loses partitions to another one, and commits with epochs of its past."""
    first = chat.heartbeat("a", 0)
    had, epoch = _partitions(first), first.member_epoch
    chat.heartbeat("b", 0)
    kept = _partitions(chat.heartbeat("a", epoch, owned=had))
    lost = sorted(set(had) - set(kept))
    chat.commit("a", epoch, lost)
    chat.commit("a", epoch - 1, kept)
    chat.describe()
    chat.heartbeat("a", epoch, owned=kept)
    chat.heartbeat("b", epoch + 1, owned=[])
    chat.describe()
    for version in (9, 10):
        chat.commit("a", epoch, kept, version=version)
        chat.commit("a", epoch - 1, kept, version=version)
        chat.commit("a", epoch, [*kept, lost[0]], version=version)
        chat.commit("a", epoch + 1, lost, version=version)
        chat.commit("a", epoch + 2, kept, version=version)
        chat.commit("b", epoch, lost, version=version)
        chat.commit("x", epoch, kept, version=version)
        chat.commit("a", epoch, lost, note="x" * 5000, version=version)
    chat.commit("a", epoch, kept, version=8)
    chat.heartbeat("a", -1)
    chat.commit("a", epoch, kept)
    chat.heartbeat("b", -1)
    chat.describe()
    chat.heartbeat("c", 0)


def commits_in_transactions(chat: Conversation) -> None:
    """A member commits with epochs of its past in a transaction."""
    first = chat.heartbeat("a", 0)
    had, epoch = _partitions(first), first.member_epoch
    chat.heartbeat("b", 0)
    kept = _partitions(chat.heartbeat("a", epoch, owned=had))
    (lost, *_) = sorted(set(had) - set(kept))
    chat.heartbeat("a", epoch, owned=kept)
    producer = chat.begin_transactions()
    for version in (5, 6):
        for commit_epoch in (epoch - 1, epoch, epoch + 1, epoch + 2):
            chat.commit_in_transaction(producer, version, "a", commit_epoch, kept[0])
        chat.commit_in_transaction(producer, version, "a", epoch, lost)
        chat.commit_in_transaction(producer, version, "", -1, lost)


def classic_members(chat: Conversation) -> None:
    """A member of the classic protocol is upgraded, loses partitions, and commits."""
    member_id = chat.join_classic([], "").member_id
    chat.names[member_id] = "the classic member"
    chat.answers.clear()
    generation = chat.join_classic([], member_id).generation_id
    chat.sync_classic(member_id, generation, range(4))
    chat.heartbeat_classic(member_id, generation)
    chat.heartbeat("b", 0)
    chat.heartbeat_classic(member_id, generation)
    chat.join_classic(range(4), member_id)
    chat.sync_classic(member_id, generation)
    chat.describe()
    kept, lost = (0, 1), (2, 3)
    chat.commit(member_id, generation, lost, version=8)
    chat.join_classic(kept, member_id)
    chat.sync_classic(member_id, generation + 1)
    chat.describe()
    for version in (8, 9):
        for commit_generation in (generation - 1, generation, generation + 1, generation + 2):
            chat.commit(member_id, commit_generation, kept, version=version)
        chat.commit(member_id, generation, lost, version=version)


def joining_again(chat: Conversation) -> None:
    """Members join again: one that is known, a fenced one, one in a revocation, static ones."""
    first = chat.heartbeat("a", 0)
    chat.heartbeat("a", 0)
    chat.heartbeat("a", 99)
    chat.heartbeat("a", 0)
    chat.heartbeat("b", 0)
    chat.heartbeat("a", first.member_epoch, owned=_partitions(first))
    chat.heartbeat("a", 0)
    chat.describe()
    chat.heartbeat("b", first.member_epoch + 1, owned=[])
    chat.heartbeat("s", 0, instance_id="i")
    chat.heartbeat("s", 0, instance_id="i")
    chat.heartbeat("s", -2, instance_id="i")
    chat.commit("s", 0, [0])
    back = chat.heartbeat("s2", 0, instance_id="i")
    chat.commit("s2", 0, _partitions(back))
    chat.describe()


def assignment_intervals(chat: Conversation) -> None:
    """After the first member the interval does not end; members come and go, and subscribe."""
    chat.configure("consumer.assignment.interval.ms", "20000")
    chat.configure("consumer.assignment.interval.ms", LONG_INTERVAL_MS)
    first = chat.heartbeat("a", 0)
    epoch = first.member_epoch
    chat.heartbeat("b", 0)
    chat.heartbeat("a", epoch, owned=_partitions(first))
    chat.describe()
    chat.heartbeat("a", epoch, owned=_partitions(first), subscribed_topic_names=["other"])
    chat.describe()
    chat.heartbeat("a", epoch, owned=[])
    chat.describe()
    chat.heartbeat("a", -1)
    chat.heartbeat("b", epoch, owned=[])
    chat.heartbeat("b", -1)
    chat.describe()
    chat.heartbeat("c", 0)


def share_groups(chat: Conversation) -> None:
    """A member joins twice; another one waits for the interval."""
    joined = chat.share_heartbeat("a", 0)
    for _ in range(TRIES):  # the state of the partitions is created after a heartbeat
        time.sleep(0.2)
        given = chat.share_heartbeat("a", joined.member_epoch)
        if given.assignment is not None:
            break
        chat.answers.pop()
    chat.share_heartbeat("a", 0)
    chat.share_heartbeat("a", 99)
    chat.share_describe()
    chat.configure("share.assignment.interval.ms", LONG_INTERVAL_MS)
    chat.share_heartbeat("b", 0)
    chat.share_describe()
    chat.share_heartbeat("a", 3, subscribed_topic_names=["other"])
    chat.share_heartbeat("a", -1)
    chat.share_heartbeat("b", -1)
    chat.share_describe()
    chat.share_heartbeat("c", 0)


@pytest.fixture(scope="module")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """A broker of 4.4 with its own features; where it cannot run the skip says so."""
    folder = tmp_path_factory.mktemp("apache-kafka-groups")
    apache = ApacheKafka(folder, version=VERSION, features={}, properties=KAFKA)
    with started(apache) as kafka:
        yield kafka


def _answers(servers: str, topic: str, converse: Any) -> list[Any]:
    with RawClient(servers) as client:
        chat = Conversation(client, servers, topic)
        converse(chat)
    return chat.answers


@pytest.mark.parametrize(
    "converse",
    [
        late_commits,
        commits_in_transactions,
        classic_members,
        joining_again,
        assignment_intervals,
        share_groups,
    ],
)
def test_a_conversation_has_the_answers_of_kafka(
    apache_kafka: ApacheKafka, topic: str, converse: Any
) -> None:
    with MockKafka(brokers=1, config={"broker.api.versions": "4.4"}) as ours:
        answers = _answers(ours.bootstrap_servers, topic, converse)
    expected = _answers(apache_kafka.bootstrap_servers, topic, converse)
    for number, (found, kafkas) in enumerate(zip(answers, expected, strict=True)):
        assert found == kafkas, number
