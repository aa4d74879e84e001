import pytest

from broker.authorization.configured import configured_authorizer
from broker.config.broker_config import BrokerConfig
from tests.broker.acl_cluster import acl, acl_cluster, authorizer_of
from tests.broker.cluster_builder import make_cluster


def test_without_the_key_there_is_no_authorizer() -> None:
    assert configured_authorizer(BrokerConfig(), lambda: None) is None
    assert make_cluster(1).authorizer is None


@pytest.mark.parametrize("allows", [True, False])
def test_the_authorizer_has_the_keys_of_the_configuration(allows: bool) -> None:
    config = BrokerConfig(
        {
            "authorizer.class.name": "acl",
            "super.users": "User:a;User:b",
            "allow.everyone.if.no.acl.found": str(allows).lower(),
        }
    )
    authorizer = configured_authorizer(config, lambda: None)
    assert authorizer is not None
    assert authorizer.super_users == {"User:a", "User:b"}
    assert authorizer.allows_without_acl is allows


def test_a_change_of_a_rule_has_what_is_remembered_looked_up_again() -> None:
    cluster = acl_cluster()
    generations = [cluster.generation]
    authorizer_of(cluster).add(acl())
    generations.append(cluster.generation)
    authorizer_of(cluster).remove(acl())
    generations.append(cluster.generation)
    assert generations == sorted(set(generations))


def test_a_reset_removes_all_rules() -> None:
    cluster = acl_cluster()
    authorizer_of(cluster).add(acl())
    cluster.reset()
    assert authorizer_of(cluster).acls() == []
