"""The requests that a rule's conditions on fields select, and the parts of them.

`where` has conditions on the requests of one API. `resource` and `topic_id` are conditions on the
fields that name resources and topic ids in the requests of any API.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from broker.config.public_keys import may_show_config
from broker.faults.match import Match
from protocol.api_keys import ApiKey
from protocol.codec import SCHEMA_BODY_BYTES_MAX
from protocol.pacing import may_pause
from protocol.request_conditions import Conditions, Knowledge, Node, paths_to, pattern_count
from protocol.request_targets import TOPIC_ID, TopicNames

_FORGOTTEN = "forgotten_topics_data"
"""The topics that a request removes from its session: it asks nothing of them."""

RESOURCE_PATHS: Mapping[ApiKey, tuple[str, ...]] = {
    **dict.fromkeys(
        (ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS),
        ("resources[].resource_name",),
    ),
    ApiKey.LEAVE_GROUP: ("members[].member_id", "members[].group_instance_id", "member_id"),
    ApiKey.DESCRIBE_ACLS: ("resource_name_filter",),
    ApiKey.CREATE_ACLS: ("creations[].resource_name",),
    ApiKey.DELETE_ACLS: ("filters[].resource_name_filter",),
    ApiKey.ALTER_REPLICA_LOG_DIRS: ("dirs[].path",),
    ApiKey.CREATE_DELEGATION_TOKEN: ("owner_principal_name",),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: ("owners[].principal_name",),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: ("components[].match",),
    ApiKey.ALTER_CLIENT_QUOTAS: ("entries[].entity[].entity_name",),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: ("users[].name",),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: ("deletions[].name", "upsertions[].name"),
    ApiKey.UPDATE_FEATURES: ("feature_updates[].feature",),
}
"""The fields that name a resource other than topic, group and transactional id."""


class Selection:
    """What the `where`, `resource` and `topic_id` of a rule select."""

    def __init__(self, match: Match) -> None:
        self._match = match
        self._by_api: dict[ApiKey, tuple[Conditions, ...]] = {}
        self.is_empty = all(
            value is None for value in (match.where, match.resource, match.topic_id)
        )
        """Whether the rule has none of them: then it selects everything."""

    def alternatives(self, api_key: ApiKey) -> Sequence[Conditions]:
        """Return the conditions on requests of an API; one of them has to fit.

        None can fit if there are none: the requests do not have such fields.

        Raises:
            ValueError: the rule names a field that the API does not have.
        """
        found = self._by_api.get(api_key)
        if found is None:
            found = self._by_api[api_key] = tuple(
                Conditions(api_key, conditions) for conditions in self._combined(api_key)
            )
        return found

    def _combined(self, api_key: ApiKey) -> list[dict[str, Any]]:
        match = self._match
        choices: list[list[dict[str, Any]]] = [[dict(match.where or {})]]
        if match.resource is not None:
            resource_paths = RESOURCE_PATHS.get(api_key, ())
            choices.append([{path: match.resource} for path in resource_paths])
        if match.topic_id is not None:
            paths = [path for path in paths_to(api_key, TOPIC_ID) if _FORGOTTEN not in path]
            choices.append([{path: match.topic_id} for path in paths])
        return [
            {path: value for chosen in combination for path, value in chosen.items()}
            for combination in product(*choices)
        ]

    def can_fit(self, api_key: ApiKey, api_version: int) -> bool:
        """Return whether a request of this version has the fields."""
        return self.is_empty or any(
            conditions.is_in(api_version) for conditions in self.alternatives(api_key)
        )

    @may_pause
    def fits(self, api_key: ApiKey, request: Any, topic_name: TopicNames) -> bool:
        """Return whether a request fits, as decoded by its schema."""
        knowledge = Knowledge(may_show_config, topic_name)
        return self.is_empty or any(
            conditions.fits(request, knowledge) for conditions in self.alternatives(api_key)
        )

    @may_pause
    def roots(self, api_key: ApiKey, request: Any, knowledge: Knowledge) -> list[Node]:
        """Return the alternatives that a request fits as nodes; none if all is selected."""
        if self.is_empty:
            return []
        return [
            conditions.root
            for conditions in self.alternatives(api_key)
            if conditions.fits(request, knowledge)
        ]


def patterns_of(match: Match) -> int:
    """Return the number of patterns in the conditions of a rule."""
    return pattern_count(match.where or {})


def is_too_large(size_bytes: int) -> bool:
    """Return whether a request is not decoded by its schema, so that no conditions fit it."""
    return size_bytes > SCHEMA_BODY_BYTES_MAX
