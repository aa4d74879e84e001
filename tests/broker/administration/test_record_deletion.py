import pytest

from broker.administration.record_deletion import check_record_deletion
from broker.cluster.topics import Topic
from protocol.errors import ErrorCode
from protocol.releases import Release
from tests.batches import filled_batch
from tests.broker.cluster_builder import make_cluster

NEWEST: Release = (4, 4)


def topic_of_ten_records(cleanup_policy: str = "delete") -> Topic:
    topic = make_cluster().create_topic("a", [(1, 2)], {"cleanup.policy": cleanup_policy})
    log = topic.partitions[0].log
    for _ in range(5):
        log.append(filled_batch(log.log_end_offset, 2), 2, 0)
    log.advance_start(3)
    return topic


@pytest.mark.parametrize(
    ("offset", "result"),
    [
        (-1, (ErrorCode.NONE, 10)),
        (0, (ErrorCode.NONE, 3)),
        (3, (ErrorCode.NONE, 3)),
        (7, (ErrorCode.NONE, 7)),
        (10, (ErrorCode.NONE, 10)),
        (11, (ErrorCode.OFFSET_OUT_OF_RANGE, -1)),
        (-2, (ErrorCode.OFFSET_OUT_OF_RANGE, -1)),
    ],
)
def test_records_are_deleted_up_to_an_offset_within_the_log(
    offset: int, result: tuple[ErrorCode, int]
) -> None:
    topic = topic_of_ten_records()

    assert check_record_deletion(topic, topic.partitions[0], 1, offset, NEWEST) == result


def test_only_the_leader_deletes_records() -> None:
    topic = topic_of_ten_records()

    error_code, _ = check_record_deletion(topic, topic.partitions[0], 2, 5, NEWEST)
    assert error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_records_of_an_internal_topic_are_not_deleted() -> None:
    topic = make_cluster().create_topic("__consumer_offsets", [(1,)], {"cleanup.policy": "delete"})

    error_code, _ = check_record_deletion(topic, topic.partitions[0], 2, 0, NEWEST)
    assert error_code is ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize(
    ("policy", "release", "error_code"),
    [
        ("compact", NEWEST, ErrorCode.POLICY_VIOLATION),
        ("compact,delete", NEWEST, ErrorCode.NONE),
        ("", NEWEST, ErrorCode.NONE),
        ("", (4, 2), ErrorCode.NONE),
        ("", (4, 1), ErrorCode.POLICY_VIOLATION),
    ],
)
def test_records_of_topics_that_are_compacted_only_are_not_deleted(
    policy: str, release: Release, error_code: ErrorCode
) -> None:
    topic = topic_of_ten_records(policy)

    assert check_record_deletion(topic, topic.partitions[0], 1, 5, release)[0] is error_code
    # The leader is checked first, then the policy, then the offset.
    wrong_broker = check_record_deletion(topic, topic.partitions[0], 2, 99, release)
    assert wrong_broker[0] is ErrorCode.NOT_LEADER_OR_FOLLOWER
