"""Describe and alter the configurations of topics and brokers."""

from collections.abc import Mapping, Sequence

from client.admin import Admin
from client.errors import ApiError
from client.resources import ConfigChange, ConfigEntry, ConfigResource
from client.tools.session import ToolError
from protocol.configs import ConfigOperation, ConfigSource, ResourceType

RESOURCE_TYPES = {"topics": ResourceType.TOPIC, "brokers": ResourceType.BROKER}


def alter(
    admin: Admin,
    entity_type: str,
    name: str | None,
    added: Mapping[str, str],
    deleted: Sequence[str],
) -> None:
    """Set and remove keys of one resource; removing a key that is not set is an error."""
    resource = _resource(entity_type, name)
    if deleted:
        present = {entry.name for entry in _own_entries(admin, resource)}
        missing = [key for key in deleted if key not in present]
        if missing:
            raise ToolError(f"Invalid config(s): {','.join(missing)}")
    changes = [ConfigChange(key, ConfigOperation.SET, value) for key, value in added.items()]
    changes += [ConfigChange(key, ConfigOperation.DELETE) for key in deleted]
    error = admin.incremental_alter_configs({resource: changes})[resource]
    if error is not None:
        raise error


def describe(
    admin: Admin, entity_type: str, names: Sequence[str | None], *, is_everything: bool
) -> list[str]:
    """Return a heading for each resource and a line for each changed key, or for all keys."""
    lines: list[str] = []
    existing = admin.list_topics() if entity_type == "topics" else []
    for name in names or _all_names(admin, entity_type, existing):
        if entity_type == "topics" and name not in existing:
            lines.append(f"The topic '{name}' doesn't exist and doesn't have dynamic config.")
            continue
        resource = _resource(entity_type, name)
        entries = _entries(admin, resource) if is_everything else _own_entries(admin, resource)
        lines.append(_heading(entity_type, name, is_everything=is_everything))
        lines += [
            entry_line(entry)
            for entry in sorted(entries, key=lambda config_entry: config_entry.name)
        ]
    return lines


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


def _all_names(admin: Admin, entity_type: str, topics: Sequence[str]) -> list[str | None]:
    if entity_type == "topics":
        return [*topics]
    node_ids = sorted(admin.describe_cluster().brokers)
    return [*(str(node_id) for node_id in node_ids), None]


def _resource(entity_type: str, name: str | None) -> ConfigResource:
    return ConfigResource(RESOURCE_TYPES[entity_type], name or "")


def _entries(admin: Admin, resource: ConfigResource) -> list[ConfigEntry]:
    described = admin.describe_configs([resource])[resource]
    if isinstance(described, ApiError):
        raise described
    return described


def _own_entries(admin: Admin, resource: ConfigResource) -> list[ConfigEntry]:
    """What was set on the resource itself, at run time."""
    if resource.resource_type == ResourceType.TOPIC:
        source = ConfigSource.DYNAMIC_TOPIC_CONFIG
    elif resource.name:
        source = ConfigSource.DYNAMIC_BROKER_CONFIG
    else:
        source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    return [entry for entry in _entries(admin, resource) if entry.source == source]


def _heading(entity_type: str, name: str | None, *, is_everything: bool) -> str:
    if name is None:
        return f"Default configs for {entity_type} in the cluster are:"
    return f"{'All' if is_everything else 'Dynamic'} configs for {entity_type[:-1]} {name} are:"
