"""What a ShareFetch of a session reads, and a fetch without a part of it."""

from typing import Any

from broker.fetch.share_session_parts import complete_share_request, partitions_withheld
from broker.request.context import RequestContext
from broker.share_groups.sessions import ShareSession, ShareSessionKey, TopicIdPartition
from protocol import messages
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import make_context
from tests.broker.share_driver import GROUP, ShareDriver, member_id


def request_of(
    driver: ShareDriver, epoch: int, named: list[int], forgotten: list[int] | None = None
) -> tuple[RequestContext, Any]:
    request_class: Any = messages.ShareFetchRequest
    topic_class, topic_id = request_class.FetchTopic, driver.topic.topic_id
    request = request_class(
        group_id=GROUP,
        member_id=member_id(1),
        share_session_epoch=epoch,
        topics=[
            topic_class(
                topic_id=topic_id,
                partitions=[topic_class.FetchPartition(partition_index=index) for index in named],
            )
        ]
        if named
        else [],
        forgotten_topics_data=[
            request_class.ForgottenTopic(topic_id=topic_id, partitions=forgotten or [])
        ],
    )
    return make_context(ApiKey.SHARE_FETCH, 1), request


def read_by(driver: ShareDriver, epoch: int, named: list[int], forgotten: list[int]) -> list[int]:
    context, request = request_of(driver, epoch, named, forgotten)
    complete = complete_share_request(context, request, driver.cluster)
    return sorted(part.partition_index for topic in complete.topics for part in topic.partitions)


def session_of(driver: ShareDriver) -> ShareSession:
    session = driver.cluster.share.leaders[1].sessions.get(ShareSessionKey(GROUP, member_id(1)))
    assert session is not None
    return session


def opened() -> ShareDriver:
    driver = ShareDriver(partition_count=3)
    driver.join(1)
    driver.fetch(1, partitions=[0, 1])
    return driver


def test_a_request_of_a_session_is_completed_by_what_the_session_has() -> None:
    driver = opened()
    assert read_by(driver, 1, [], []) == [0, 1]
    assert read_by(driver, 1, [2, 1], [0]) == [1, 2]
    assert list(session_of(driver).partitions) == [
        TopicIdPartition(driver.topic.topic_id, index) for index in (0, 1)
    ]


def test_a_request_that_opens_or_closes_a_session_or_has_none_stays_as_it_is() -> None:
    driver = opened()
    assert read_by(driver, 0, [2], []) == [2]
    assert read_by(driver, -1, [], []) == []
    assert read_by(ShareDriver(), 1, [0], []) == [0]


def test_withheld_partitions_are_back_in_the_session_and_in_its_next_response() -> None:
    driver = opened()
    partition = TopicIdPartition(driver.topic.topic_id, 1)
    session = session_of(driver)
    session.must_send.clear()
    with partitions_withheld(*request_of(driver, 1, [1]), driver.cluster):
        assert partition not in session.partitions
    assert partition in session.partitions
    assert session.must_send == {partition}


def test_nothing_is_withheld_from_a_request_that_closes_the_session() -> None:
    driver = opened()
    with partitions_withheld(*request_of(driver, -1, [1]), driver.cluster):
        assert len(session_of(driver).partitions) == 2
