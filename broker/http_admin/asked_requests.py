"""What was asked of a cluster: the APIs, their versions, and what the requests named.

Offsets, records, and ids that a cluster gives out are left out: another run has others.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any

from broker.http_admin.recorded_parts import AskedRequest
from protocol import acls, configs
from protocol.api_keys import ApiKey
from protocol.json_view import api_name
from protocol.request_targets import TopicNames, request_targets

ENTRIES_MAX = 10_000
"""How many kinds of requests are kept; a program that makes up names has no more of them."""

_Key = tuple[str, int, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]


class AskedRequests:
    """The requests that were seen, by kind."""

    def __init__(self) -> None:
        self._entries: dict[_Key, tuple[AskedRequest, set[str]]] = {}
        self.left_out_count = 0
        """Requests that are not kept because of `ENTRIES_MAX`."""

    def see(self, seen: AskedRequest) -> None:
        """Count a request, which `asked_of` returned."""
        key = (
            seen.api,
            seen.version,
            seen.user,
            tuple(seen.groups),
            tuple(seen.transactional_ids),
            tuple(seen.resources),
        )
        entry = self._entries.get(key)
        if entry is not None:
            first, topics = entry
            first.count += seen.count
            topics.update(seen.topics)
        elif len(self._entries) < ENTRIES_MAX:
            self._entries[key] = seen, set(seen.topics)
        else:
            self.left_out_count += 1

    def entries(self) -> list[AskedRequest]:
        """Return one entry for each kind of request, in the order in which they came first."""
        for first, topics in self._entries.values():
            first.topics = sorted(topics)
        return [first for first, _ in self._entries.values()]


def asked_of(
    api_key: int, version: int, request: Any, user: str, topic_name: TopicNames
) -> AskedRequest:
    """Return what a decoded request asks for; None stands for one that cannot be decoded.

    `user` is the principal, such as `User:alice`, and `topic_name` returns the name of a topic id.
    """
    found = AskedRequest(api_name(api_key), version, user)
    if request is None:
        return found
    targets = request_targets(request)
    found.topics = sorted(targets.topic_names(topic_name))
    found.groups = sorted(targets.groups)
    found.transactional_ids = sorted(targets.transactional_ids)
    found.resources = sorted(set(_resources(api_key, request)))
    return found


def _resources(api_key: int, request: Any) -> Iterable[str]:
    read = _RESOURCES.get(api_key)
    return () if read is None else read(request)


def _of_configs(request: Any) -> Iterator[str]:
    for resource in request.resources or ():
        if resource.resource_type != configs.ResourceType.TOPIC:
            kind = _name(configs.ResourceType, resource.resource_type)
            yield f"{kind}:{resource.resource_name}"


def _of_acl_filters(request: Any) -> Iterator[str]:
    for acl_filter in getattr(request, "filters", None) or (request,):
        yield _acl(acl_filter.resource_type_filter, acl_filter.resource_name_filter)


def _of_new_acls(request: Any) -> Iterator[str]:
    for creation in request.creations or ():
        yield _acl(creation.resource_type, creation.resource_name)


def _of_altered_quotas(request: Any) -> Iterator[str]:
    for entry in request.entries or ():
        yield _quota([(part.entity_type, part.entity_name) for part in entry.entity or ()])


def _of_described_quotas(request: Any) -> Iterator[str]:
    yield _quota([(part.entity_type, part.match) for part in request.components or ()])


def _of_users(request: Any) -> Iterator[str]:
    for array in ("users", "deletions", "upsertions"):
        yield from (f"USER:{user.name}" for user in getattr(request, array, None) or ())


_RESOURCES: Mapping[int, Callable[[Any], Iterable[str]]] = {
    ApiKey.ALTER_CLIENT_QUOTAS: _of_altered_quotas,
    ApiKey.ALTER_CONFIGS: _of_configs,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _of_users,
    ApiKey.CREATE_ACLS: _of_new_acls,
    ApiKey.DELETE_ACLS: _of_acl_filters,
    ApiKey.DESCRIBE_ACLS: _of_acl_filters,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _of_described_quotas,
    ApiKey.DESCRIBE_CONFIGS: _of_configs,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _of_users,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _of_configs,
}
"""How the resources of a request are found, by API; others name topics, groups or transactions."""


def _acl(resource_type: int, name: str | None) -> str:
    kind = _name(acls.ResourceType, resource_type)
    return f"ACL:{kind}" if name is None else f"ACL:{kind}:{name}"


def _quota(parts: list[tuple[str, str | None]]) -> str:
    """Return an entity; one without a name is the default, or any in a filter."""
    texts = sorted(kind if name is None else f"{kind}={name}" for kind, name in parts)
    return f"QUOTA:{','.join(texts)}"


def _name(kind: type[IntEnum], number: int) -> str:
    return kind(number).name if number in set(kind) else str(number)
