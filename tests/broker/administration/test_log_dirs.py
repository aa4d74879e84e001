"""Moving replicas to the only directory, or to another."""

import pytest

from broker.administration.log_dirs import log_dir, move_replica
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import make_cluster


@pytest.mark.parametrize(
    ("broker_id", "topic_name", "index", "path", "expected"),
    [
        (1, "a", 0, log_dir(1), ErrorCode.NONE),
        (2, "a", 0, log_dir(2), ErrorCode.REPLICA_NOT_AVAILABLE),
        (2, "a", 0, log_dir(1), ErrorCode.LOG_DIR_NOT_FOUND),
        (1, "a", 1, log_dir(1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (1, "a", -1, log_dir(1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (1, "b", 0, log_dir(1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (1, "b", 0, "/elsewhere", ErrorCode.LOG_DIR_NOT_FOUND),
        (1, "x" * 213, 0, "", ErrorCode.LOG_DIR_NOT_FOUND),
        (1, "x" * 214, 0, "", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_replica_is_in_the_only_directory_of_its_broker(
    broker_id: int, topic_name: str, index: int, path: str, expected: ErrorCode
) -> None:
    cluster = make_cluster(2)
    cluster.create_topic("a", [(1,)], {})
    assert move_replica(cluster, broker_id, topic_name, index, path) is expected
