"""The keys that were set, over the admin port."""

import pytest

from broker.administration.config_alteration import alter_configs
from broker.administration.config_operations import Alteration, Operation
from broker.http_admin.configs import ConfigsQuery, ConfigView, list_set_configs
from broker.http_admin.state import Admin
from broker.http_admin.topics import NewTopicBody, create_topic
from protocol.configs import ConfigOperation, ResourceType
from tests.broker.http_admin.admin_server import make_admin

ALTER_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


def change(admin: Admin, kind: ResourceType, resource: str, name: str, text: str) -> None:
    operation = Operation(name, ConfigOperation.SET, text)
    alteration = Alteration(kind, resource, (operation,), is_replacement=False)
    assert alter_configs(admin.cluster, 1, [alteration], validate_only=False) == [None]


@pytest.fixture
def admin() -> Admin:
    """Return the admin port of a cluster with a key of every kind."""
    admin = make_admin(
        2,
        **{
            "alter.config.policy.class.name": "a.B",
            "delegation.token.secret.key": "s",
            "num.network.threads": "5",
        },
    )
    change(admin, ResourceType.BROKER, "1", ALTER_RATE, "7")
    create_topic(
        admin, NewTopicBody("orders", config={"leader.replication.throttled.replicas": "*"})
    )
    change(admin, ResourceType.GROUP, "g", "share.isolation.level", "read_committed")
    return admin


def test_keys_say_whether_they_act(admin: Admin) -> None:
    views = list_set_configs(admin, ConfigsQuery())
    found = [(view.resource_type, view.resource_name, view.name, view.effect) for view in views]
    assert found == [
        ("broker", "", "alter.config.policy.class.name", "missing"),
        ("broker", "", "delegation.token.secret.key", "acts"),
        ("broker", "", "min.insync.replicas", "acts"),
        ("broker", "", "num.network.threads", "unseen"),
        ("broker", "1", ALTER_RATE, "missing"),
        ("topic", "orders", "leader.replication.throttled.replicas", "acts"),
        ("group", "g", "share.isolation.level", "acts"),
    ]
    assert [view.reason is None for view in views] == [view.effect == "acts" for view in views]


def test_a_secret_is_not_shown(admin: Admin) -> None:
    values = {view.name: view.value for view in list_set_configs(admin, ConfigsQuery())}
    assert values["delegation.token.secret.key"] is None
    assert values["alter.config.policy.class.name"] == "a.B"


def test_one_effect_is_a_filter_and_the_number_has_a_limit(admin: Admin) -> None:
    missing = list_set_configs(admin, ConfigsQuery(effect="missing", limit=2))
    assert [view.name for view in missing] == [
        "alter.config.policy.class.name",
        ALTER_RATE,
    ]
    assert list_set_configs(admin, ConfigsQuery(limit=0)) == []


def test_a_key_with_its_default_counts_as_one_that_acts() -> None:
    admin = make_admin(1, **{"metrics.num.samples": "2"})
    expected = ConfigView("broker", "", "metrics.num.samples", "2", "acts", None)
    assert expected in list_set_configs(admin, ConfigsQuery())
