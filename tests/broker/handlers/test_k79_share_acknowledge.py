"""ShareAcknowledge on the wire."""

from uuid import UUID

import pytest

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.share_driver import ACCEPT, GROUP, LOCK_MS, RENEW, ShareDriver, member_id, part


def acquiring() -> ShareDriver:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a", b"b")
    driver.acquire(1)
    return driver


def test_accepted_records_are_not_delivered_again() -> None:
    driver = acquiring()

    assert driver.acknowledge_code(1, (0, 1, [ACCEPT])) == ErrorCode.NONE

    driver.acknowledge(1, epoch=-1)
    assert driver.acquire(2) == []


def test_the_records_of_another_member_are_refused_with_a_message() -> None:
    driver = acquiring()
    driver.acquire(2)

    response = driver.acknowledge(2, (0, 1, [ACCEPT]))

    assert part(response).error_code == ErrorCode.INVALID_RECORD_STATE
    assert part(response).error_message == "Member is not the owner of batch record"


def test_a_session_is_needed_and_not_opened() -> None:
    driver = acquiring()
    assert driver.acknowledge(2, epoch=1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert driver.acknowledge(2, epoch=-1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    for epoch in (0, 9):
        response = driver.acknowledge(1, epoch=epoch)
        assert response.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_the_last_request_releases_what_is_left() -> None:
    driver = acquiring()

    response = driver.acknowledge(1, (0, 0, [ACCEPT]), epoch=-1)

    assert part(response).error_code == ErrorCode.NONE
    assert driver.acquire(2) == [(1, 1, 2)]


@pytest.mark.parametrize("topic_id", [UUID(int=99), UUID(int=0)])
def test_an_unknown_topic_id_has_its_error(topic_id: UUID) -> None:
    driver = acquiring()
    topic = messages.ShareAcknowledgeRequest.AcknowledgeTopic
    request = messages.ShareAcknowledgeRequest(
        group_id=GROUP,
        member_id=member_id(1),
        share_session_epoch=1,
        topics=[
            topic(
                topic_id=topic_id,
                partitions=[
                    topic.AcknowledgePartition(partition_index=0, acknowledgement_batches=[])
                ],
            )
        ],
    )

    assert part(driver.ask(request)).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_renewed_lock_begins_again() -> None:
    driver = acquiring()
    driver.version = 2
    driver.advance(LOCK_MS - 1)

    response = driver.acknowledge(1, (0, 1, [RENEW]), is_renew_ack=True)

    assert part(response).error_code == ErrorCode.NONE
    assert response.acquisition_lock_timeout_ms == LOCK_MS
    driver.advance(LOCK_MS - 1)
    assert driver.acquire(2) == []
    driver.advance(1)
    assert driver.acquire(2) == [(0, 1, 2)]


def test_a_lock_that_becomes_shorter_is_renewed_for_the_shorter_time() -> None:
    driver = acquiring()
    driver.version = 2
    driver.configure("share.record.lock.duration.ms", "15000")

    driver.acknowledge(1, (0, 1, [RENEW]), is_renew_ack=True)

    driver.advance(15_000)
    assert driver.acquire(2) == [(0, 1, 2)]


def test_a_lock_is_renewed_only_by_a_request_that_says_so() -> None:
    driver = acquiring()
    driver.version = 2

    assert driver.acknowledge_code(1, (0, 1, [RENEW])) == ErrorCode.INVALID_REQUEST
    driver.version = 1
    assert driver.acknowledge_code(1, (0, 1, [RENEW])) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("group_id", "member"), [(None, "m"), (GROUP, None), (GROUP, ""), (GROUP, "m" * 37)]
)
def test_since_kafka_4_2_a_request_without_group_or_member_is_invalid(
    group_id: str | None, member: str | None
) -> None:
    driver = ShareDriver(broker_api_versions="4.2")
    request = messages.ShareAcknowledgeRequest(
        group_id=group_id, member_id=member, share_session_epoch=1, topics=[]
    )

    assert driver.ask(request, 2).error_code == ErrorCode.INVALID_REQUEST
