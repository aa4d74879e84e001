"""Share groups: topics of one request that may be read or not, and those of their offsets."""

from typing import Any
from uuid import UUID

import pytest

from broker.produce.append import append_batch
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.configs import ResourceType
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import make_context
from tests.broker.handlers.denial_driver import GROUP, DenialDriver, entry
from tests.broker.share_driver import ACCEPT, member_id

NONE = ErrorCode.NONE
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
MISSING = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
TEXT = "Topic authorization failed."
MEMBER = member_id(1)
HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


class ShareDenials(DenialDriver):
    """A driver with a member that is assigned t and u, of which each has one record."""

    def __init__(self, *rights: str) -> None:
        super().__init__("READ GROUP g", "READ TOPIC *")
        config = self.cluster.config
        layer = {"share.auto.offset.reset": "earliest"}
        self.cluster.set_config(config.with_resource((ResourceType.GROUP, GROUP), layer))
        self.epoch = 0
        joined = self.beat(0, ["t", "u"])
        assert joined.error_code == NONE
        self.beat(joined.member_epoch)
        for topic in self.topics:
            batch = make_batch(b"value")
            context = make_context(ApiKey.PRODUCE, 9, now_ms=self.now_ms)
            append_batch(context, self.cluster, topic, topic.partitions[0], batch, 0, len(batch))
        self.forbid_all()
        self.allow(*rights)

    def beat(self, epoch: int, names: list[str] | None = None) -> Any:
        return self.ask(
            ApiKey.SHARE_GROUP_HEARTBEAT,
            1,
            group_id=GROUP,
            member_id=MEMBER,
            member_epoch=epoch,
            subscribed_topic_names=names,
        )

    def fetch(self, *topic_ids: UUID, acknowledge: bool = False, max_wait_ms: int = 0) -> Any:
        """Send the next ShareFetch, which may accept the first record of each topic."""
        topic_class = messages.ShareFetchRequest.FetchTopic
        response = self.ask(
            ApiKey.SHARE_FETCH,
            1,
            group_id=GROUP,
            member_id=MEMBER,
            share_session_epoch=self.epoch,
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=1_000_000,
            max_records=10,
            batch_size=10,
            topics=_acknowledged(topic_class, topic_ids, acknowledges=acknowledge),
            forgotten_topics_data=[],
        )
        self.epoch += 1
        return response

    def acknowledge(self, *topic_ids: UUID) -> Any:
        """Send a ShareAcknowledge that accepts the first record of each topic."""
        topic_class = messages.ShareAcknowledgeRequest.AcknowledgeTopic
        response = self.ask(
            ApiKey.SHARE_ACKNOWLEDGE,
            1,
            group_id=GROUP,
            member_id=MEMBER,
            share_session_epoch=self.epoch,
            topics=_acknowledged(topic_class, topic_ids, acknowledges=True),
        )
        self.epoch += 1
        return response

    def codes(self, response: Any, field: str = "error_code") -> dict[str, int]:
        """Return an error code of each topic's only partition."""
        names = {topic.topic_id: topic.name for topic in self.topics}
        assert response.error_code == NONE, ErrorCode(response.error_code)
        return {
            names[topic.topic_id]: getattr(topic.partitions[0], field)
            for topic in response.responses
        }


def _acknowledged(topic_class: Any, topic_ids: Any, *, acknowledges: bool) -> list[Any]:
    partition_class = messages.entry_class(topic_class(), "partitions")
    batch = partition_class.AcknowledgementBatch(
        first_offset=0, last_offset=0, acknowledge_types=[ACCEPT]
    )
    batches = [batch] if acknowledges else []
    partition = partition_class(partition_index=0, acknowledgement_batches=batches)
    return [topic_class(topic_id=topic_id, partitions=[partition]) for topic_id in topic_ids]


def test_a_share_member_may_describe_what_it_subscribes_to() -> None:
    driver = DenialDriver("READ GROUP g", "DESCRIBE TOPIC u")
    fields: dict[str, Any] = {"group_id": GROUP, "member_id": MEMBER, "member_epoch": 0}
    denied = driver.ask(
        ApiKey.SHARE_GROUP_HEARTBEAT, 1, subscribed_topic_names=["t", "u"], **fields
    )
    assert (denied.error_code, driver.noted) == (DENIED, ["DESCRIBE TOPIC t"])
    joined = driver.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, subscribed_topic_names=["u"], **fields)
    assert joined.error_code == NONE


def test_a_share_group_with_a_hidden_topic_is_not_described() -> None:
    driver = ShareDenials("DESCRIBE GROUP g", "DESCRIBE TOPIC u")
    ask: dict[str, Any] = {"group_ids": ["g", "hidden"], "include_authorized_operations": True}
    denied, hidden = driver.ask(ApiKey.SHARE_GROUP_DESCRIBE, 1, **ask).groups
    assert denied.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert (hidden.error_code, hidden.error_message) == (DENIED, HIDDEN_TOPICS)
    assert (hidden.members, hidden.authorized_operations) == ([], -(2**31))
    driver.allow("DESCRIBE TOPIC t")
    _denied, described = driver.ask(ApiKey.SHARE_GROUP_DESCRIBE, 1, **ask).groups
    assert (described.error_code, len(described.members)) == (NONE, 1)
    assert described.authorized_operations == 1 << 8


def test_share_fetch_delivers_the_topics_that_may_be_read() -> None:
    driver = ShareDenials("READ GROUP g", "READ TOPIC u")
    t, u = (topic.topic_id for topic in driver.topics)
    # It does not wait: the denied topic is an error. So it is in each response of the session.
    response = driver.fetch(t, u, max_wait_ms=10_000)
    assert driver.codes(response) == {"t": DENIED, "u": NONE}
    records = {topic.topic_id: topic.partitions[0].records for topic in response.responses}
    assert records[u]
    assert not records[t]
    assert driver.noted == ["READ TOPIC t"]
    # Acknowledgements are checked, too.
    response = driver.fetch(t, u, acknowledge=True)
    assert driver.codes(response)["t"] == DENIED
    assert driver.codes(response, "acknowledge_error_code") == {"t": DENIED, "u": NONE}
    driver.allow("READ TOPIC t")
    assert driver.codes(driver.fetch()) == {"t": NONE}


def test_share_fetch_responds_at_once_if_no_topic_may_be_read() -> None:
    driver = ShareDenials("READ GROUP g")
    t, u = (topic.topic_id for topic in driver.topics)
    response = driver.fetch(t, u, max_wait_ms=10_000)
    assert driver.codes(response) == {"t": DENIED, "u": DENIED}


def test_share_acknowledge_takes_records_of_topics_that_may_be_read() -> None:
    driver = ShareDenials("READ GROUP g", "READ TOPIC *")
    t, u = (topic.topic_id for topic in driver.topics)
    driver.fetch(t, u)
    driver.forbid_all()
    driver.allow("READ GROUP g", "READ TOPIC u")
    assert driver.codes(driver.acknowledge(t, u)) == {"t": DENIED, "u": NONE}
    driver.allow("READ TOPIC t")
    # What was denied was not acknowledged.
    assert driver.codes(driver.acknowledge(t)) == {"t": NONE}


@pytest.mark.parametrize("fetches", [False, True])
def test_an_unknown_topic_id_fails_the_request_where_there_is_an_authorizer(fetches: bool) -> None:
    driver = ShareDenials("READ GROUP g", "READ TOPIC *")
    t, unknown = driver.topics[0].topic_id, UUID(int=2**100)
    driver.fetch(t)
    response = driver.fetch(t, unknown) if fetches else driver.acknowledge(t, unknown)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


# Offsets --------------------------------------------------------------------------------------


def topic_codes(topics: Any) -> list[tuple[str, list[tuple[int, str | None]]]]:
    return [
        (topic.topic_name, [(part.error_code, part.error_message) for part in topic.partitions])
        for topic in topics
    ]


@pytest.mark.parametrize("version", [0, 1])
def test_named_offsets_of_denied_topics_come_last(version: int) -> None:
    driver = ShareDenials("DESCRIBE GROUP g", "DESCRIBE TOPIC u")
    request_class = messages.DescribeShareGroupOffsetsRequest
    group_class = request_class.DescribeShareGroupOffsetsRequestGroup
    topics = [
        entry(group_class, "topics", version, topic_name=name, partitions=[0])
        for name in ("t", "u", "gone")
    ]
    groups = [
        group_class(version=version, group_id=group_id, topics=topics)
        for group_id in ("hidden", GROUP)
    ]
    denied, found = driver.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, version, groups=groups).groups
    assert (denied.error_code, denied.topics) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, [])
    assert topic_codes(found.topics) == [
        ("u", [(NONE, None)]),
        ("t", [(DENIED, TEXT)]),
        ("gone", [(DENIED, TEXT)]),
    ]
    assert found.topics[1].topic_id is None
    assert found.topics[1].partitions[0].start_offset == -1


def test_all_offsets_are_those_of_topics_that_may_be_described() -> None:
    driver = ShareDenials("DESCRIBE GROUP g", "DESCRIBE TOPIC u")
    request_class = messages.DescribeShareGroupOffsetsRequest
    groups = [entry(request_class, "groups", 0, group_id=GROUP, topics=None)]
    (found,) = driver.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 0, groups=groups).groups
    assert [topic.topic_name for topic in found.topics] == ["u"]


def _leave(driver: ShareDenials) -> None:
    driver.allow("READ GROUP g")
    assert driver.beat(-1).error_code == NONE


def test_offsets_of_topics_that_may_be_read_are_altered() -> None:
    driver = ShareDenials("READ TOPIC u")
    _leave(driver)
    request_class = messages.AlterShareGroupOffsetsRequest
    topic_class: Any = request_class.AlterShareGroupOffsetsRequestTopic
    topics = [
        topic_class(
            topic_name=name,
            partitions=[entry(topic_class, "partitions", 0, partition_index=0, start_offset=0)],
        )
        for name in ("u", "t", "gone")
    ]
    response = driver.ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, group_id=GROUP, topics=topics)
    assert response.error_code == NONE
    assert topic_codes(response.responses) == [
        ("t", [(DENIED, TEXT)]),
        ("gone", [(DENIED, TEXT)]),
        ("u", [(NONE, None)]),
    ]
    # As in Kafka, the id of a topic is there even so.
    ids = [topic.topic_id for topic in response.responses]
    assert ids == [driver.topics[0].topic_id, None, driver.topics[1].topic_id]


def test_offsets_of_topics_that_may_be_read_are_deleted() -> None:
    driver = ShareDenials("READ TOPIC u", "DELETE GROUP g")
    _leave(driver)
    request_class = messages.DeleteShareGroupOffsetsRequest
    topics = [entry(request_class, "topics", 0, topic_name=name) for name in ("u", "t", "gone")]
    response = driver.ask(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, group_id=GROUP, topics=topics)
    assert response.error_code == NONE
    assert [
        (topic.topic_name, topic.error_code, topic.error_message) for topic in response.responses
    ] == [("t", DENIED, TEXT), ("gone", DENIED, TEXT), ("u", NONE, None)]


@pytest.mark.parametrize(
    "api_key", [ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.DELETE_SHARE_GROUP_OFFSETS]
)
def test_a_denied_group_has_a_message(api_key: ApiKey) -> None:
    response = DenialDriver().ask(api_key, 0, group_id=GROUP, topics=[])
    assert response.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert (response.error_message, response.responses) == ("Group authorization failed.", [])
