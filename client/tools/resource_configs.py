"""Describe and alter the configurations of topics, brokers, groups and client metrics.

Source: Kafka's `ConfigCommand` of release 4.4. It does not check whether a key that it removes is
set.
"""

from collections.abc import Mapping, Sequence

from client.admin import Admin
from client.errors import ApiError, UnsupportedVersionError
from client.resources import ConfigChange, ConfigEntry, ConfigResource
from client.tools.session import ToolError
from protocol.configs import ConfigOperation, ConfigSource, ResourceType
from protocol.errors import ErrorCode

RESOURCE_TYPES = {
    "topics": ResourceType.TOPIC,
    "brokers": ResourceType.BROKER,
    "broker-loggers": ResourceType.BROKER_LOGGER,
    "client-metrics": ResourceType.CLIENT_METRICS,
    "groups": ResourceType.GROUP,
}
_OF_BROKERS = frozenset({"brokers", "broker-loggers"})
_DYNAMIC_SOURCES = {
    ResourceType.TOPIC: ConfigSource.DYNAMIC_TOPIC_CONFIG,
    ResourceType.BROKER: ConfigSource.DYNAMIC_BROKER_CONFIG,
    ResourceType.BROKER_LOGGER: ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
    ResourceType.CLIENT_METRICS: ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
    ResourceType.GROUP: ConfigSource.DYNAMIC_GROUP_CONFIG,
}


def alter(
    admin: Admin,
    entity_type: str,
    name: str | None,
    added: Mapping[str, str],
    deleted: Sequence[str],
) -> None:
    """Set and remove keys of one resource."""
    _check_name(entity_type, name)
    resource = _resource(entity_type, name)
    if entity_type == "broker-loggers":
        known = {entry.name for entry in _own_entries(admin, resource)}
        unknown = [logger for logger in (*deleted, *added) if logger not in known]
        if unknown:
            raise ToolError(f"Invalid broker logger(s): {','.join(unknown)}")
    changes = [ConfigChange(key, ConfigOperation.DELETE) for key in deleted]
    changes += [ConfigChange(key, ConfigOperation.SET, value) for key, value in added.items()]
    error = admin.incremental_alter_configs({resource: changes})[resource]
    if error is not None:
        raise error


def describe(
    admin: Admin, entity_type: str, names: Sequence[str | None], *, is_everything: bool
) -> list[str]:
    """Return a heading for each resource and a line for each changed key, or for all keys."""
    lines: list[str] = []
    for name in names:
        _check_name(entity_type, name)
    existing = [] if is_everything and names else _all_names(admin, entity_type)
    for name in names or existing:
        if name is not None and not is_everything and name not in existing:
            noun = entity_type[:-1]
            lines.append(f"The {noun} '{name}' doesn't exist and doesn't have dynamic config.")
            continue
        resource = _resource(entity_type, name)
        entries = _entries(admin, resource) if is_everything else _own_entries(admin, resource)
        lines.append(_heading(entity_type, name, is_everything=is_everything))
        lines += [
            entry_line(entry)
            for entry in sorted(entries, key=lambda config_entry: config_entry.name)
        ]
    return lines


def _check_name(entity_type: str, name: str | None) -> None:
    if entity_type in _OF_BROKERS and name is not None:
        try:
            int(name)
        except ValueError:
            raise ToolError(
                f"The entity name for {entity_type} must be a valid integer broker id, but it is:"
                f" {name}"
            ) from None


def entry_line(entry: ConfigEntry) -> str:
    """A key with its value and every place that gives it one, indented."""
    synonyms = ", ".join(
        f"{synonym.source.name}:{synonym.name}={_text(synonym.value)}" for synonym in entry.synonyms
    )
    return (
        f"  {entry.name}={_text(entry.value)} sensitive={str(entry.is_sensitive).lower()}"
        f" synonyms={{{synonyms}}}"
    )


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _all_names(admin: Admin, entity_type: str) -> list[str | None]:
    """Return the resources of a type that exist; None is the default of all brokers."""
    if entity_type == "topics":
        return [*admin.list_topics()]
    if entity_type == "client-metrics":
        resources = admin.list_config_resources([ResourceType.CLIENT_METRICS])
        return [resource.name for resource in resources]
    if entity_type == "groups":
        group_ids = [listing.group_id for listing in admin.list_groups()]
        return [*dict.fromkeys((*group_ids, *_configured_groups(admin)))]
    node_ids = sorted(admin.describe_cluster().brokers)
    return [*(str(node_id) for node_id in node_ids), None]


def _configured_groups(admin: Admin) -> list[str]:
    """Return the groups with a configuration; none if the broker is older than such a list."""
    try:
        return [resource.name for resource in admin.list_config_resources([ResourceType.GROUP])]
    except UnsupportedVersionError:
        return []
    except ApiError as error:
        if error.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return []
        raise


def _resource(entity_type: str, name: str | None) -> ConfigResource:
    return ConfigResource(RESOURCE_TYPES[entity_type], name or "")


def _entries(admin: Admin, resource: ConfigResource) -> list[ConfigEntry]:
    described = admin.describe_configs([resource])[resource]
    if isinstance(described, ApiError):
        raise described
    return described


def _own_entries(admin: Admin, resource: ConfigResource) -> list[ConfigEntry]:
    """What was set on the resource itself, at run time."""
    source = _DYNAMIC_SOURCES[resource.resource_type]
    if resource.resource_type is ResourceType.BROKER and not resource.name:
        source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    return [entry for entry in _entries(admin, resource) if entry.source == source]


def _heading(entity_type: str, name: str | None, *, is_everything: bool) -> str:
    if name is None:
        return f"Default configs for {entity_type} in the cluster are:"
    return f"{'All' if is_everything else 'Dynamic'} configs for {entity_type[:-1]} {name} are:"
