"""Acknowledgements in requests."""

import pytest

from broker.errors import Refusal
from broker.fetch.share_acknowledge import acknowledge_topics, request_error
from protocol import messages
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY
from tests.broker.interleaving import at_pause, run_with_pauses
from tests.broker.share_driver import ACCEPT, GROUP, ShareDriver, member_id, part


@pytest.mark.parametrize("text", [None, "", "m", "x" * 25, "not a uuid at all!!!!!", "é" * 22])
def test_a_member_id_that_is_no_uuid_is_refused(text: str | None) -> None:
    assert request_error((4, 1), GROUP, text) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_member_id_of_kafka_is_accepted() -> None:
    assert request_error((4, 1), GROUP, member_id(1)) is ErrorCode.NONE
    assert request_error((4, 2), GROUP, "m" * 36) is ErrorCode.NONE


def test_malformed_acknowledgements_are_refused_and_change_nothing() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a", b"b")
    driver.acquire(1)

    assert driver.acknowledge_code(1, (1, 0, [ACCEPT])) == ErrorCode.INVALID_REQUEST
    assert driver.acknowledge_code(1, (0, 1, [9])) == ErrorCode.INVALID_REQUEST
    assert driver.acknowledge_code(1, (0, 1, [ACCEPT])) == ErrorCode.NONE


def acknowledge_partitions(driver: ShareDriver, *partitions: tuple[int, list[int]]) -> list[int]:
    """Accept single offsets of partitions; return the partitions that have a result."""
    topic_class = messages.ShareAcknowledgeRequest.AcknowledgeTopic
    partition_class = topic_class.AcknowledgePartition
    entries = [
        partition_class(
            partition_index=index,
            acknowledgement_batches=[
                partition_class.AcknowledgementBatch(
                    first_offset=offset, last_offset=offset, acknowledge_types=[ACCEPT]
                )
                for offset in offsets
            ],
        )
        for index, offsets in partitions
    ]
    topic = topic_class(topic_id=driver.topic.topic_id, partitions=entries)
    result = acknowledge_topics(
        driver.cluster, 1, GROUP, member_id(1), [topic], driver.now_ms, may_renew=False
    )
    return sorted(partition.partition_index for partition in result)


def test_a_partition_without_acknowledgements_has_a_result_beside_one_that_has_some() -> None:
    driver = ShareDriver(partition_count=2)

    assert acknowledge_partitions(driver, (0, []), (1, [])) == []
    assert acknowledge_partitions(driver, (0, []), (7, [0])) == [7]
    assert acknowledge_partitions(driver, (0, []), (1, [0])) == [0, 1]


def test_only_a_refusal_of_the_share_partition_has_a_message() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a", b"b")
    driver.acquire(1)

    malformed, not_acquired = (
        part(driver.acknowledge(1, batch)) for batch in ((0, 0, []), (2, 2, [ACCEPT]))
    )

    assert (malformed.error_code, malformed.error_message) == (ErrorCode.INVALID_REQUEST, None)
    assert not_acquired.error_code == ErrorCode.INVALID_REQUEST
    assert not_acquired.error_message


def test_the_last_entry_of_a_partition_counts() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a", b"b")
    driver.acquire(1)

    assert acknowledge_partitions(driver, (0, [0]), (0, [1])) == [0]

    assert driver.acknowledge_code(1, (1, 1, [ACCEPT])) == ErrorCode.INVALID_RECORD_STATE
    assert driver.acknowledge_code(1, (0, 0, [ACCEPT])) == ErrorCode.NONE


def test_a_partition_that_was_not_fetched_from_this_broker_is_unknown() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.acquire(1)
    driver.cluster.share.leaders[1].drop_group("g", driver.now_ms)

    assert driver.acknowledge_code(1, (0, 0, [ACCEPT])) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("pause", [1, 2, 3])
def test_a_topic_that_is_deleted_in_a_pause_before_its_acknowledgements_is_unknown(
    pause: int,
) -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(*[b"v"] * (LOOK_EVERY + 1))
    driver.acquire(1)
    topic_class = messages.ShareAcknowledgeRequest.AcknowledgeTopic
    partition_class = topic_class.AcknowledgePartition
    batches = [
        partition_class.AcknowledgementBatch(
            first_offset=offset, last_offset=offset, acknowledge_types=[ACCEPT]
        )
        for offset in range(LOOK_EVERY + 1)
    ]
    partition = partition_class(partition_index=0, acknowledgement_batches=batches)
    topic = topic_class(topic_id=driver.topic.topic_id, partitions=[partition])

    result = run_with_pauses(
        lambda: acknowledge_topics(
            driver.cluster, 1, GROUP, member_id(1), [topic], driver.now_ms, may_renew=False
        ),
        at_pause(pause, lambda: driver.cluster.delete_topic(driver.topic, driver.now_ms)),
    )

    assert list(result.values()) == [Refusal(ErrorCode.UNKNOWN_TOPIC_ID, None)]
