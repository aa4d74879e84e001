"""The keys that were set, at the start and at run time, and what each of them does."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import msgspec

from broker.cluster.cluster import Cluster
from broker.config.api_versions import release_of
from broker.config.broker_config import BROKER_KEYS, key_of
from broker.config.key_warnings import effect_of, ineffective_keys
from broker.config.keys import ConfigKey
from broker.config.resource_keys import RESOURCE_KEYS
from broker.config.topic_keys import TOPIC_KEYS
from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.operation import Input, operation
from broker.http_admin.state import Admin
from protocol.configs import ResourceType
from protocol.pacing import may_pause, paced

RESULTS_MAX = 10_000

EffectName = Literal["acts", "unseen", "missing"]


class ConfigsQuery(Input):
    """Only the keys with one effect, and no more than `limit`."""

    effect: EffectName | None = None
    limit: Annotated[int, msgspec.Meta(ge=0, le=RESULTS_MAX)] = 1_000


class ConfigView(msgspec.Struct):
    """One key that was set on a resource: a broker, a topic, a group or client metrics.

    The empty name of a broker is all brokers. `value` is null for a secret. `effect` is `acts` for
    what Kafka does, `unseen` for a key whose effect no client and no tool of Kafka could see, and
    `missing` for one that acts in Kafka and not here; `reason` says why it does not act. A key
    that has its default counts as one that acts.
    """

    resource_type: str
    resource_name: str
    name: str
    value: str | None
    effect: EffectName
    reason: str | None


@operation("GET", "/v1/configs", tag="configs", turn_kind=TurnKind.READING)
@may_pause
def list_set_configs(admin: Admin, query: ConfigsQuery) -> list[ConfigView]:
    """List the keys that were set, and whether they have an effect."""
    views: list[ConfigView] = []
    for resource_type, name, texts in paced(list(_set_texts(admin.cluster))):
        for view in _views(admin.cluster, resource_type, name, texts):
            if len(views) >= query.limit:
                return views
            if query.effect in {None, view.effect}:
                views.append(view)
    return views


def _set_texts(cluster: Cluster) -> Iterator[tuple[ResourceType, str, Mapping[str, str]]]:
    """Yield each resource with the texts that were set on it; a broker's may come twice."""
    config = cluster.config
    yield ResourceType.BROKER, "", {**config.overrides, **config.dynamic_default}
    for node_id in sorted(config.ids_of_different_brokers()):
        started_with = config.overrides_by_broker.get(node_id, {})
        yield ResourceType.BROKER, str(node_id), {**started_with, **config.dynamic_layer(node_id)}
    for topic in cluster.topics.all():
        if not topic.is_internal:
            yield ResourceType.TOPIC, topic.name, topic.config.overrides
    for (resource_type, name), texts in config.resources.items():
        yield resource_type, name, texts


def _views(
    cluster: Cluster, resource_type: ResourceType, resource_name: str, texts: Mapping[str, str]
) -> Iterator[ConfigView]:
    of_type: Mapping[ResourceType, Mapping[str, ConfigKey]] = {
        ResourceType.BROKER: BROKER_KEYS,
        ResourceType.TOPIC: TOPIC_KEYS,
        **RESOURCE_KEYS,
    }
    keys = of_type[resource_type]
    missing = ineffective_keys(keys, texts, release_of(cluster.shared_config))
    for name, text in sorted(texts.items()):
        key = keys.get(name) or key_of(name)
        effect, reason = effect_of(keys, name)
        effect_name: EffectName = effect.value
        if effect_name == "missing" and name not in missing:
            effect_name, reason = "acts", None
        yield ConfigView(
            resource_type.name.lower(),
            resource_name,
            name,
            None if key.is_sensitive else text,
            effect_name,
            reason,
        )
