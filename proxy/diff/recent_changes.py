"""What clients have changed a moment ago: the brokers of a cluster learn of it one after the other.

Kafka's controller answers when a change is in its log. A broker that is asked then may describe
what was before.
"""

from collections.abc import Collection, Mapping
from typing import Any

from broker.cluster.cluster import Cluster
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from proxy.diff.field_comparison import FieldDifference
from proxy.diff.id_map import IdMap
from proxy.diff.played_request import PlayedRequest

CHANGED_TOPIC = "brokers learn of a new or deleted topic at different times"
CHANGED_SETTING = "brokers learn of a changed setting at different times"
CHANGED_MS = 30_000
"""How long a change is a recent one."""
UNKNOWN_ERRORS = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""Errors of a broker that does not know a topic yet, or no more."""
_TOPIC_APIS = frozenset({"DescribeTopicPartitions", "Fetch", "ListOffsets", "Metadata"})
_CHANGES_TOPICS = frozenset(
    {
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.ELECT_LEADERS,
    }
)
_DESCRIBES_CHANGE = {
    ApiKey.ALTER_CLIENT_QUOTAS: "DescribeClientQuotas",
    ApiKey.ALTER_CONFIGS: "DescribeConfigs",
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: "DescribeUserScramCredentials",
    ApiKey.CREATE_ACLS: "DescribeAcls",
    ApiKey.DELETE_ACLS: "DescribeAcls",
    ApiKey.INCREMENTAL_ALTER_CONFIGS: "DescribeConfigs",
}


class RecentChanges:
    """Knows when topics and settings were changed last, by the requests of clients."""

    def __init__(self, cluster: Cluster, ids: IdMap) -> None:
        self._cluster = cluster
        self._ids = ids
        self._topics_ms: dict[str, int] = {}
        """By name and by real id."""
        self._settings_ms: dict[tuple[str, str], int] = {}
        """By the API that describes a setting, and the name of its resource."""
        self._known_topics = {topic.name for topic in cluster.topics.all()}

    def note(self, compared: PlayedRequest) -> None:
        """Note what a request changes, and the topics that a request to Metadata names first."""
        api_key, now_ms = compared.api_key, compared.received_ms
        if api_key in _DESCRIBES_CHANGE:
            for name in _resources(compared.arguments):
                self._settings_ms[_DESCRIBES_CHANGE[api_key], name] = now_ms
        elif api_key in _CHANGES_TOPICS or api_key is ApiKey.METADATA:
            for name in named_topics(compared.request):
                if name and (api_key is not ApiKey.METADATA or name not in self._known_topics):
                    self._note_topic(name, now_ms)

    def _note_topic(self, name: str, now_ms: int) -> None:
        self._known_topics.add(name)
        self._topics_ms[name] = now_ms
        topic = self._cluster.topics.get(name)
        real_id = topic and self._ids.known_real("topic_id", str(topic.topic_id))
        if real_id:
            self._topics_ms[real_id] = now_ms

    def topic_reason(
        self, difference: FieldDifference, requested_topics: Collection[str], now_ms: int
    ) -> str | None:
        """Return why a difference may go if it is about a topic that was changed before `now_ms`.

        `requested_topics` are names and real ids of the topics that the request names.
        """
        if difference.api not in _TOPIC_APIS:
            return None
        for topic, changed_ms in self._topics_ms.items():
            is_about_it = topic in requested_topics or topic in difference.place
            if is_about_it and now_ms - changed_ms < CHANGED_MS:
                return CHANGED_TOPIC
        return None

    def setting_reason(self, difference: FieldDifference, now_ms: int) -> str | None:
        """Return why a difference may go if it is about a setting that was changed before."""
        for (api, name), changed_ms in self._settings_ms.items():
            is_about_it = api == difference.api and name in difference.place
            if is_about_it and now_ms - changed_ms < CHANGED_MS:
                return CHANGED_SETTING
        return None


def named_topics(request: Any) -> list[str]:
    """Return the names of topics in a request that changes some, or to Metadata."""
    topics = getattr(request, "topics", None) or getattr(request, "topic_partitions", None)
    return [
        entry
        if isinstance(entry, str)
        else getattr(entry, "name", None) or getattr(entry, "topic", None) or ""
        for entry in [*(topics or ()), *(getattr(request, "topic_names", None) or ())]
    ]


def _resources(arguments: Mapping[str, Any]) -> set[str]:
    """Return the names of the resources whose settings a request changes; empty means any."""
    entries = (
        entry
        for name in ("creations", "deletions", "filters", "resources", "upsertions")
        for entry in arguments.get(name) or ()
    )
    names = {
        entry.get("resource_name") or entry.get("resource_name_filter") or entry.get("name") or ""
        for entry in entries
    }
    return names | {
        f"{part['entity_type']}={part['entity_name']}"
        for entry in arguments.get("entries") or ()
        for part in entry["entity"]
    }
