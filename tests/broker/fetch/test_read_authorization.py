import pytest

from broker.authorization.authorizer import DEFAULT_DENY
from broker.authorization.checks import READ_TOPIC, Denial
from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import CachedPartition
from broker.fetch.read_authorization import denied_topics
from broker.request.context import RequestContext
from protocol.acls import AclOperation, ResourceType
from protocol.api_keys import ApiKey
from tests.broker.acl_cluster import acl, acl_cluster, authorizer_of
from tests.broker.cluster_builder import make_cluster, make_context

PARTITIONS = [
    CachedPartition(name, None, index, 0, 1) for index in range(2) for name in ("t", "u", None)
]


def denied(
    cluster: Cluster, *, is_from_follower: bool = False, is_noted: bool = True
) -> tuple[set[str | None], RequestContext]:
    context = make_context(ApiKey.FETCH, 12)
    found = denied_topics(
        context, cluster, PARTITIONS, is_from_follower=is_from_follower, is_noted=is_noted
    )
    return set(found), context


@pytest.mark.parametrize("is_from_follower", [True, False])
def test_nothing_is_denied_without_an_authorizer(is_from_follower: bool) -> None:
    assert denied(make_cluster(1), is_from_follower=is_from_follower)[0] == set()


def test_a_consumer_needs_the_right_to_read_each_topic() -> None:
    cluster = acl_cluster(super_users="")
    authorizer_of(cluster).add(acl("t"))
    found, context = denied(cluster)
    assert found == {"u"}
    assert context.denials == (Denial(READ_TOPIC, "u", DEFAULT_DENY),)
    found, context = denied(cluster, is_noted=False)
    assert (found, context.denials) == ({"u"}, ())


def test_a_follower_may_read_all_topics_or_none() -> None:
    cluster = acl_cluster(super_users="")
    authorizer_of(cluster).add(acl("*"))
    found, context = denied(cluster, is_from_follower=True)
    assert found == {"t", "u", None}
    assert len(context.denials) == 1
    authorizer_of(cluster).add(
        acl("kafka-cluster", AclOperation.CLUSTER_ACTION, resource_type=ResourceType.CLUSTER)
    )
    assert denied(cluster, is_from_follower=True)[0] == set()
