"""Rules that disturb the members of a group."""

import pytest

from broker.faults.cluster_actions import act
from broker.faults.group_actions import disturb_members
from broker.faults.rule import fault_rule
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.faults.group_members import join
from tests.broker.share_driver import ShareDriver


def test_a_group_without_members_is_an_obstacle() -> None:
    cluster = make_cluster()
    with pytest.raises(ValueError, match="group g has no members"):
        disturb_members(cluster, "g", "fence", NOW_MS)
    rule = fault_rule(api="Heartbeat", group="g", members="rebalance")
    assert act(rule, cluster, 1, NOW_MS) == "group g has no members"


def test_members_of_a_consumer_group_rebalance_or_are_removed() -> None:
    cluster = make_cluster()
    epoch = join(cluster, "g")
    rebalance = fault_rule(api="ConsumerGroupHeartbeat", group="g", members="rebalance")
    assert act(rebalance, cluster, 1, NOW_MS) is None
    group = cluster.groups.table.get("g")
    assert group is not None
    assert len(group.members) == 1
    assert join(cluster, "g") > epoch
    fence = fault_rule(api="ConsumerGroupHeartbeat", group="g", members="fence")
    assert act(fence, cluster, 1, NOW_MS) is None
    assert len(group.members) == 0


def test_members_of_a_share_group_rebalance_or_are_removed() -> None:
    driver = ShareDriver()
    driver.join(1)
    cluster = driver.cluster
    (group,) = cluster.share.groups.all()
    epoch = group.group_epoch
    disturb_members(cluster, group.group_id, "rebalance", NOW_MS)
    assert group.group_epoch > epoch
    disturb_members(cluster, group.group_id, "fence", NOW_MS)
    assert not group.members
