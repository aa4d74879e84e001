"""The configuration of a topic: list it with its sources, and change it."""

from typing import Annotated

import msgspec

from broker.administration.config_alteration import VALUE_CHARACTERS_MAX, alter_configs
from broker.administration.config_description import describe_topic
from broker.administration.config_operations import Alteration
from broker.administration.config_operations import Operation as ConfigChange
from broker.config.topic_keys import TOPIC_KEYS
from broker.http_admin.operation import Input, Problem, operation
from broker.http_admin.state import Admin
from broker.http_admin.topics import TopicPath
from broker.http_admin.unknown_names import unknown_key_hint
from protocol.configs import ConfigOperation, ResourceType
from protocol.pacing import may_pause

CHANGES_MAX = 200

ConfigValue = Annotated[str, msgspec.Meta(max_length=VALUE_CHARACTERS_MAX)]


class TopicConfigView(msgspec.Struct):
    """One key of a topic. `source` is Kafka's name, such as DYNAMIC_TOPIC_CONFIG."""

    name: str
    value: str | None
    source: str


class TopicConfigBody(Input):
    """Keys to set, with their values; null removes a key from the topic."""

    config: Annotated[dict[str, ConfigValue | None], msgspec.Meta(max_length=CHANGES_MAX)]


@operation("GET", "/v1/topics/{name}/config", tag="topics")
def list_topic_configs(admin: Admin, path: TopicPath) -> list[TopicConfigView]:
    """List every key of a topic with its value and source, as DescribeConfigs does."""
    topic = admin.topic(path.name)
    cluster = admin.cluster
    entries = describe_topic(cluster.config, min(cluster.brokers), topic.config.overrides)
    return [TopicConfigView(entry.key.name, entry.text, entry.source.name) for entry in entries]


@operation(
    "PATCH",
    "/v1/topics/{name}/config",
    tag="topics",
    further_rules="A broker would refuse a key or a value",
)
@may_pause
def alter_topic_config(
    admin: Admin, path: TopicPath, body: TopicConfigBody
) -> list[TopicConfigView]:
    """Set or remove keys of a topic, all or none, as IncrementalAlterConfigs does."""
    admin.topic(path.name)
    changes = tuple(
        ConfigChange(name, ConfigOperation.DELETE if value is None else ConfigOperation.SET, value)
        for name, value in body.config.items()
    )
    alteration = Alteration(ResourceType.TOPIC, path.name, changes, is_replacement=False)
    (refusal,) = alter_configs(
        admin.cluster, min(admin.cluster.brokers), [alteration], validate_only=False
    )
    if refusal is not None:
        unknown = next((name for name in body.config if name not in TOPIC_KEYS), None)
        hint = "" if unknown is None else unknown_key_hint(unknown, TOPIC_KEYS)
        message = f"{refusal.error_code.name}: {refusal.error_message or path.name}{hint}"
        raise Problem(422, message)
    return list_topic_configs(admin, path)
