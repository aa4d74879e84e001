"""The response of an offset commit: what does not exist comes first."""

from types import SimpleNamespace

from broker.groups.commit_results import response_topics, split_commit
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import make_cluster

MISSING = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
NONE = ErrorCode.NONE


def _response(*requested: tuple[str, list[int]]) -> list[tuple[object, list[tuple[int, int]]]]:
    cluster = make_cluster()
    cluster.create_topic("t", [(1,), (1,)], {})
    cluster.create_topic("u", [(1,)], {})
    split = split_commit(
        (
            name,
            cluster.topics.get(name),
            [SimpleNamespace(partition_index=index) for index in indexes],
        )
        for name, indexes in requested
    )
    count = sum(len(known.partitions) for known in split.known)
    return [(key, list(errors)) for key, errors in response_topics(split, [NONE] * count)]


def test_missing_topics_and_partitions_come_first() -> None:
    assert _response(("t", [0, 7, 1]), ("u", [0]), ("x", [0])) == [
        ("t", [(7, MISSING), (0, NONE), (1, NONE)]),
        ("x", [(0, MISSING)]),
        ("u", [(0, NONE)]),
    ]


def test_a_topic_that_occurs_twice_is_merged_if_anything_is_missing() -> None:
    assert _response(("t", [0]), ("t", [1])) == [("t", [(0, NONE)]), ("t", [(1, NONE)])]
    assert _response(("t", [0]), ("t", [1]), ("x", [])) == [
        ("x", []),
        ("t", [(0, NONE), (1, NONE)]),
    ]
    assert _response(("x", [1]), ("x", [0])) == [("x", [(1, MISSING), (0, MISSING)])]


def test_a_known_topic_without_partitions_is_left_out() -> None:
    assert _response(("t", []), ("u", [0])) == [("u", [(0, NONE)])]
    assert _response(("t", [])) == []
