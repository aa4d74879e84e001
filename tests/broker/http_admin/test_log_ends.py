"""Logs that lose their end over the admin port, gaps, markers, and followers that lag."""

import pytest

from broker.cluster.topics import NO_LEADER
from broker.http_admin.log_ends import (
    ControlRecordBody,
    FollowerPath,
    GapBody,
    MarkerKind,
    TruncateBody,
    append_control_record,
    leave_partition_gap,
    pause_partition_follower,
    resume_partition_follower,
    truncate_partition,
)
from broker.http_admin.operation import Problem
from broker.http_admin.state import Admin
from broker.http_admin.topics import NewTopicBody, PartitionPath, create_topic
from tests.broker.cluster_builder import NOW_MS
from tests.broker.http_admin.admin_server import make_admin
from tests.broker.http_admin.kafka_clients import produce

PATH = PartitionPath("a", 0)


def with_records() -> Admin:
    admin = make_admin(2)
    create_topic(admin, NewTopicBody("a", 1, 2))
    for producer_id in (1, 2):
        produce(admin, "a", producer_id)
    return admin


def test_a_log_is_truncated_at_an_offset_that_it_has() -> None:
    admin = with_records()
    view = truncate_partition(admin, PATH, TruncateBody(1))
    assert (view.log_end_offset, view.high_watermark, view.leader) == (1, 1, 1)
    assert view.leader_epoch > 0
    with pytest.raises(Problem, match="partition 0 of 'a' has offsets 0 to 1") as caught:
        truncate_partition(admin, PATH, TruncateBody(2))
    assert caught.value.status == 422


@pytest.mark.parametrize("kind", MarkerKind)
def test_a_log_gets_a_gap_and_a_marker_at_its_end(kind: MarkerKind) -> None:
    admin = with_records()
    assert leave_partition_gap(admin, PATH, GapBody(3)).log_end_offset == 5
    assert append_control_record(admin, PATH, ControlRecordBody(kind)).log_end_offset == 6
    partition = admin.partition("a", 0)
    assert partition.last_stable_offset == 6
    assert len(partition.log.transaction_index) == 0
    admin.cluster.set_leader(partition, NO_LEADER, NOW_MS)
    with pytest.raises(Problem, match="partition 0 of 'a' has no leader"):
        leave_partition_gap(admin, PATH, GapBody())
    with pytest.raises(Problem, match="partition 0 of 'a' has no leader"):
        append_control_record(admin, PATH, ControlRecordBody())


def test_a_follower_is_paused_and_resumed() -> None:
    admin = with_records()
    follower = FollowerPath("a", 0, 2)
    view = pause_partition_follower(admin, follower)
    assert (view.isr, view.replica_ends, view.paused_followers) == ([1], {2: 2}, [2])
    view = resume_partition_follower(admin, follower)
    assert (view.isr, view.replica_ends, view.paused_followers) == ([1, 2], {}, [])
    with pytest.raises(Problem, match="broker 1 leads a-0"):
        pause_partition_follower(admin, FollowerPath("a", 0, 1))
