"""What was asked of a cluster: the APIs, their versions, and what the requests named.

Offsets, records, and ids that a cluster gives out are left out: another run has others.
"""

from collections.abc import Iterator
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

    def see(self, asked: AskedRequest) -> None:
        """Count a request, which `asked_of` returned."""
        key = (
            asked.api,
            asked.version,
            asked.user,
            tuple(asked.groups),
            tuple(asked.transactional_ids),
            tuple(asked.resources),
        )
        entry = self._entries.get(key)
        if entry is not None:
            first, topics = entry
            first.count += asked.count
            topics.update(asked.topics)
        elif len(self._entries) < ENTRIES_MAX:
            self._entries[key] = asked, set(asked.topics)
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
    asked = AskedRequest(api_name(api_key), version, user)
    if request is None:
        return asked
    targets = request_targets(request)
    asked.topics = sorted(targets.topic_names(topic_name))
    asked.groups = sorted(targets.groups)
    asked.transactional_ids = sorted(targets.transactional_ids)
    asked.resources = sorted(set(_resources(api_key, request)))
    return asked


def _resources(api_key: int, request: Any) -> Iterator[str]:
    match api_key:
        case ApiKey.DESCRIBE_CONFIGS | ApiKey.ALTER_CONFIGS | ApiKey.INCREMENTAL_ALTER_CONFIGS:
            for resource in request.resources or ():
                if resource.resource_type != configs.ResourceType.TOPIC:
                    kind = _name(configs.ResourceType, resource.resource_type)
                    yield f"{kind}:{resource.resource_name}"
        case ApiKey.DESCRIBE_ACLS:
            yield _acl(request.resource_type_filter, request.resource_name_filter)
        case ApiKey.CREATE_ACLS:
            for creation in request.creations or ():
                yield _acl(creation.resource_type, creation.resource_name)
        case ApiKey.DELETE_ACLS:
            for acl_filter in request.filters or ():
                yield _acl(acl_filter.resource_type_filter, acl_filter.resource_name_filter)
        case ApiKey.ALTER_CLIENT_QUOTAS:
            for entry in request.entries or ():
                parts = [(part.entity_type, part.entity_name) for part in entry.entity]
                yield _quota(parts)
        case ApiKey.DESCRIBE_CLIENT_QUOTAS:
            yield _quota([(part.entity_type, part.match) for part in request.components or ()])
        case ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS:
            yield from (f"USER:{user.name}" for user in request.users or ())
        case ApiKey.ALTER_USER_SCRAM_CREDENTIALS:
            for change in (*(request.deletions or ()), *(request.upsertions or ())):
                yield f"USER:{change.name}"
        case _:
            pass


def _acl(resource_type: int, name: str | None) -> str:
    kind = _name(acls.ResourceType, resource_type)
    return f"ACL:{kind}" if name is None else f"ACL:{kind}:{name}"


def _quota(parts: list[tuple[str, str | None]]) -> str:
    """Return an entity; one without a name is the default, or any in a filter."""
    texts = sorted(kind if name is None else f"{kind}={name}" for kind, name in parts)
    return f"QUOTA:{','.join(texts)}"


def _name(kind: type[IntEnum], number: int) -> str:
    return kind(number).name if number in set(kind) else str(number)
