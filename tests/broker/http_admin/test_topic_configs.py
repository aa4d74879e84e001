"""The configuration of a topic over the admin port."""

import pytest

from broker.http_admin.operation import Problem
from broker.http_admin.topic_configs import TopicConfigBody, alter_topic_config, list_topic_configs
from broker.http_admin.topics import NewTopicBody, TopicPath, create_topic
from tests.broker.http_admin.admin_server import make_admin

ORDERS = TopicPath("orders")


def test_keys_are_set_and_removed_and_say_where_their_value_comes_from() -> None:
    admin = make_admin(1, **{"log.retention.ms": "5000"})
    create_topic(admin, NewTopicBody("orders", config={"cleanup.policy": "compact"}))
    changed = alter_topic_config(
        admin, ORDERS, TopicConfigBody({"max.message.bytes": "77", "cleanup.policy": None})
    )
    assert changed == list_topic_configs(admin, ORDERS)
    found = {view.name: (view.value, view.source) for view in changed}
    assert found["max.message.bytes"] == ("77", "DYNAMIC_TOPIC_CONFIG")
    assert found["retention.ms"] == ("5000", "STATIC_BROKER_CONFIG")
    assert found["cleanup.policy"] == ("delete", "DEFAULT_CONFIG")
    assert admin.topic("orders").config.overrides == {"max.message.bytes": "77"}


@pytest.mark.parametrize("config", [{"no.such": "1"}, {"retention.ms": "often"}])
def test_a_refused_key_or_value_changes_nothing(config: dict[str, str | None]) -> None:
    admin = make_admin(1)
    create_topic(admin, NewTopicBody("orders"))
    with pytest.raises(Problem, match="INVALID_CONFIG") as caught:
        alter_topic_config(admin, ORDERS, TopicConfigBody({"max.message.bytes": "77", **config}))
    assert caught.value.status == 422
    assert admin.topic("orders").config.overrides == {}


def test_a_missing_topic_is_not_found() -> None:
    with pytest.raises(Problem) as caught:
        alter_topic_config(make_admin(1), ORDERS, TopicConfigBody({}))
    assert caught.value.status == 404
