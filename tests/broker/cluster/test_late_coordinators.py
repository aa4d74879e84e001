"""The coordinators of groups are made when they are first needed, and again after a reset."""

from broker.cluster.broker_membership import add_broker, new_broker
from tests.broker.cluster_builder import make_cluster


def test_a_broker_that_joins_before_or_after_the_first_use_leads_share_partitions() -> None:
    cluster = make_cluster(2)
    add_broker(cluster, new_broker(cluster, 3), 0)
    assert set(cluster.share.leaders) == {1, 2, 3}
    add_broker(cluster, new_broker(cluster, 4), 0)
    assert set(cluster.share.leaders) == {1, 2, 3, 4}


def test_a_reset_forgets_them() -> None:
    cluster = make_cluster(1)
    groups, share = cluster.groups, cluster.share
    assert (cluster.groups, cluster.share) == (groups, share)
    cluster.reset()
    assert cluster.groups is not groups
    assert cluster.share is not share


def test_they_have_the_configuration_of_the_moment_in_which_they_are_made() -> None:
    cluster = make_cluster(1)
    changed = cluster.config.with_dynamic(None, {"group.min.session.timeout.ms": "1"})
    cluster.set_config(changed)
    assert cluster.groups.table.config is changed
