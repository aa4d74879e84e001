"""Rules that disturb the members of a group."""

import pytest

from broker.faults.cluster_actions import act
from broker.faults.group_actions import disturb_members
from broker.faults.rule import fault_rule
from tests.broker.cluster_builder import NOW_MS, make_cluster


def test_a_group_without_members_is_an_obstacle() -> None:
    cluster = make_cluster()
    with pytest.raises(ValueError, match="group g has no members"):
        disturb_members(cluster, "g", "fence", NOW_MS)
    rule = fault_rule(api="Heartbeat", group="g", members="rebalance")
    assert act(rule, cluster, 1, NOW_MS) == "group g has no members"
