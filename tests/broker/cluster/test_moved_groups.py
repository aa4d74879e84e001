"""Groups are unloaded when the leader of their partition changes."""

from unittest.mock import Mock

from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from broker.groups.requests import CommitRequest, OffsetToCommit
from tests.broker.cluster_builder import NOW_MS, make_cluster


def test_groups_of_all_partitions_with_new_leaders_are_unloaded_in_one_pass() -> None:
    cluster = make_cluster(2)
    log = ensure_internal_topic(cluster, GROUP_METADATA)
    group_ids = [f"g{number}" for number in range(20)]
    for group_id in group_ids:
        request = CommitRequest(group_id, (OffsetToCommit("t", 0, 1, -1, ""),), -1, "")
        cluster.groups.table.commit(request, NOW_MS)
    cluster.groups.table.unload = unload = Mock()  # type: ignore[method-assign]
    cluster.group_log.partition_index = indexes = Mock(  # type: ignore[method-assign]
        wraps=cluster.group_log.partition_index
    )

    assert log is not None
    moved = [partition for partition in log.partitions if partition.partition_index % 2]
    for partition in moved:
        cluster.set_leader(partition, 3 - partition.leader_id, NOW_MS)
    assert not unload.called
    cluster.timers.run_due(NOW_MS)

    assert indexes.call_count == len(group_ids)
    unloaded = sorted(call.args[0] for call in unload.call_args_list)
    assert unloaded == sorted(
        group_id for group_id in group_ids if cluster.group_log.partition_index(group_id) % 2
    )
