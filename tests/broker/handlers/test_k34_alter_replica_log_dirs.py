"""AlterReplicaLogDirs on the wire."""

import pytest

from broker.config.broker_requirements import LOG_DIR
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import call, make_cluster

_Dir = messages.AlterReplicaLogDirsRequest.AlterReplicaLogDir


@pytest.mark.parametrize("version", [1, 2])
def test_each_partition_has_one_result_and_its_last_directory_counts(version: int) -> None:
    cluster = make_cluster(2)
    cluster.create_topic("a", [(1,), (2,), (1,)], {})
    request = messages.AlterReplicaLogDirsRequest(
        version=version,
        dirs=[
            _Dir(path=path, topics=[_Dir.AlterReplicaLogDirTopic(name="a", partitions=indexes)])
            for path, indexes in (("/elsewhere", [0, 2]), (LOG_DIR.format(1), [0, 1]))
        ],
    )
    (topic,) = call(cluster, request, version).results
    assert topic.topic_name == "a"
    assert {result.partition_index: result.error_code for result in topic.partitions} == {
        0: ErrorCode.NONE,
        1: ErrorCode.REPLICA_NOT_AVAILABLE,
        2: ErrorCode.LOG_DIR_NOT_FOUND,
    }
