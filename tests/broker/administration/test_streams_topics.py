"""The creation of internal topics of streams groups."""

from tests.broker.handlers.streams_requests import (
    heartbeat,
    joined,
    make_cluster,
    store,
    subtopology,
)


def test_a_topic_that_cannot_be_created_is_tried_again_after_two_heartbeats() -> None:
    cluster = make_cluster()
    topology = [subtopology(state_changelog_topics=[store(replication_factor=9)])]
    epoch = joined(cluster, subtopologies=topology).member_epoch
    (status,) = heartbeat(cluster, epoch).status
    assert status.status_detail.startswith(
        "Internal topics are missing: store; Creation failed: store (Unable to replicate the"
        " partition 9 time(s):"
    )
    cluster.now_ms += 10_000
    (status,) = heartbeat(cluster, epoch).status
    assert status.status_detail == "Internal topics are missing: store"


def test_up_to_three_errors_are_shown() -> None:
    cluster = make_cluster()
    stores = [store(name=f"store{number}", replication_factor=9) for number in range(5)]
    epoch = joined(cluster, subtopologies=[subtopology(state_changelog_topics=stores)]).member_epoch
    (status,) = heartbeat(cluster, epoch).status
    assert status.status_detail.count("(Unable to replicate") == 3
    assert status.status_detail.endswith(" and 2 more.")
