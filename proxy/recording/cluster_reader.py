"""Read what a cluster has beside records, as the parts of a snapshot."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeVar

from broker.http_admin.acls import AclBody
from broker.http_admin.quotas import QuotaView
from broker.http_admin.recorded_parts import (
    RecordedBroker,
    RecordedCluster,
    RecordedGroup,
    RecordedUser,
)
from broker.http_admin.snapshot_document import SavedConfig, SavedOffset
from client.errors import ApiError, UnsupportedVersionError
from client.group_admin import EARLIEST, LATEST
from client.resources import (
    ConfigEntry,
    ConfigResource,
    GroupListing,
    PartitionKey,
    TopicDescription,
)
from protocol.configs import ConfigSource, ResourceType
from protocol.errors import ErrorCode
from protocol.json_view import api_name
from protocol.releases import UNADVERTISED_APIS, releases
from proxy.recording.log_reader import LogEnds
from proxy.recording.world_admin import WorldAdmin

if TYPE_CHECKING:
    from protocol import messages

T = TypeVar("T")

TOPICS_OF_REQUEST = 200
"""Topics whose configuration or log ends one request asks for."""
_SHARE = "share"
_OTHER_CONFIGS = {
    ResourceType.GROUP: ConfigSource.DYNAMIC_GROUP_CONFIG,
    ResourceType.CLIENT_METRICS: ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
}
"""What is recorded of resources other than topics, by type."""
_RESOURCE_TYPES: Mapping[ResourceType, Literal["group", "client_metrics"]] = {
    ResourceType.GROUP: "group",
    ResourceType.CLIENT_METRICS: "client_metrics",
}


class ClusterReader:
    """Reads a cluster by parts; a part that it refuses is left out, and `note` says so."""

    def __init__(self, admin: WorldAdmin, topic_glob: str, note: Callable[[str], None]) -> None:
        """Read the topics whose name fits `topic_glob`, without Kafka's internal ones."""
        self._admin = admin
        self._topic_glob = topic_glob
        self._note = note

    def topics(self) -> list[TopicDescription]:
        """Return the topics, sorted by name."""
        names = [name for name in self._admin.list_topics() if fnmatchcase(name, self._topic_glob)]
        found = []
        described = self._admin.describe_topics(names) if names else {}
        for name, topic in sorted(described.items()):
            if isinstance(topic, ApiError):
                self._note(f"topic {name} is left out: {topic}")
            elif not topic.is_internal:
                found.append(topic)
        return found

    def configs(self, topics: Iterable[TopicDescription]) -> dict[str, dict[str, str]]:
        """Return the configuration that is set on each topic; values of secrets are left out."""
        resources = [ConfigResource(ResourceType.TOPIC, topic.name) for topic in topics]
        found = {}
        for some in _in_chunks(resources):
            for resource, entries in self._admin.describe_configs(some).items():
                if isinstance(entries, ApiError):
                    self._note(f"the configuration of topic {resource.name} is left out: {entries}")
                    continue
                found[resource.name] = _set_at_run_time(entries, ConfigSource.DYNAMIC_TOPIC_CONFIG)
        return found

    def log_ends(self, topics: Iterable[TopicDescription]) -> dict[PartitionKey, LogEnds]:
        """Return where the log of each partition begins and ends."""
        ends = {}
        for some in _in_chunks(topics):
            keys = [(topic.name, part.index) for topic in some for part in topic.partitions]
            starts = self._admin.list_offsets(keys, EARLIEST)
            for key, end in self._admin.list_offsets(keys, LATEST).items():
                start = starts[key]
                if isinstance(start, ApiError) or isinstance(end, ApiError):
                    error = start if isinstance(start, ApiError) else end
                    self._note(f"the log of {key[0]}-{key[1]} is left out: {error}")
                else:
                    ends[key] = LogEnds(start, end)
        return ends

    def groups(self) -> list[GroupListing]:
        """Return all groups."""
        return self._part("groups", self._admin.list_groups, [])

    def offsets(
        self, groups: Iterable[GroupListing], topics: Iterable[TopicDescription]
    ) -> list[SavedOffset]:
        """Return the committed offsets of groups for topics."""
        counts = {topic.name: len(topic.partitions) for topic in topics}
        found = []
        for group in groups:
            if group.group_type.lower() == _SHARE:
                continue
            try:
                offsets = self._admin.group_offsets(group.group_id)
            except ApiError as error:
                self._note(f"the offsets of group {group.group_id} are left out: {error}")
                continue
            found += [
                SavedOffset(group.group_id, topic, index, at.offset, at.leader_epoch, at.metadata)
                for (topic, index), at in sorted(offsets.items())
                if index < counts.get(topic, 0)
            ]
        return found

    def other_configs(self) -> list[SavedConfig]:
        """Return the configuration that is set on groups and client metrics."""

        def read() -> list[SavedConfig]:
            resources = self._admin.list_config_resources(_OTHER_CONFIGS)
            found = self._admin.describe_configs(resources) if resources else {}
            return [
                SavedConfig(_RESOURCE_TYPES[resource.resource_type], resource.name, config)
                for resource, entries in sorted(found.items())
                if not isinstance(entries, ApiError)
                and (config := _set_at_run_time(entries, _OTHER_CONFIGS[resource.resource_type]))
            ]

        return self._part("configurations of groups and client metrics", read, [])

    def quotas(self) -> list[QuotaView]:
        """Return the quotas of all entities."""

        def read() -> list[QuotaView]:
            entries = self._admin.describe_client_quotas([], is_strict=False)
            found = [QuotaView(dict(entry.entity), dict(entry.quotas)) for entry in entries]
            return sorted(
                found, key=lambda quota: sorted((k, v or "") for k, v in quota.entity.items())
            )

        return self._part("quotas", read, [])

    def acls(self) -> list[AclBody]:
        """Return the rules of the access control lists; none if the cluster has no authorizer."""

        def read() -> list[AclBody]:
            return sorted(
                (
                    AclBody(
                        entry.principal or "",
                        entry.permission_type.name,
                        entry.operation.name,
                        pattern.resource_type.name,
                        pattern.name or "",
                        pattern.pattern_type.name,
                        entry.host or "",
                    )
                    for pattern, entry in self._admin.describe_acls()
                ),
                key=lambda acl: (
                    acl.resource_type,
                    acl.resource_name,
                    acl.principal,
                    acl.operation,
                ),
            )

        return self._part("access control lists", read, [])

    def cluster(self, groups: Sequence[GroupListing]) -> RecordedCluster:
        """Return what the cluster says of itself."""
        metadata = self._admin.metadata()
        served = self._admin.api_versions()
        spans = {api.api_key: (api.min_version, api.max_version) for api in served.api_keys}
        return RecordedCluster(
            cluster_id=metadata.cluster_id,
            brokers=[
                RecordedBroker(broker.node_id, broker.rack)
                for broker in sorted(metadata.brokers, key=lambda broker: broker.node_id)
            ],
            release=release_of(spans),
            api_versions={api_name(api_key): list(span) for api_key, span in sorted(spans.items())},
            features=_feature_levels(served),
            users=self._users(),
            groups=[
                RecordedGroup(group.group_id, group.group_type, group.state, group.protocol_type)
                for group in groups
            ],
        )

    def _users(self) -> list[RecordedUser]:
        def read() -> list[RecordedUser]:
            described = self._admin.describe_user_scram_credentials()
            return [
                RecordedUser(user, mechanism, iterations)
                for user, found in sorted(described.items())
                if not isinstance(found, ApiError)
                for mechanism, iterations in sorted(found.items())
            ]

        return self._part("users", read, [])

    def _part(self, name: str, read: Callable[[], T], empty: T) -> T:
        """Return a part, or an empty one if the cluster refuses the request."""
        try:
            return read()
        except (ApiError, UnsupportedVersionError) as error:
            if isinstance(error, ApiError) and error.error_code == ErrorCode.SECURITY_DISABLED:
                return empty  # without an authorizer there are no access control lists
            self._note(f"{name} are left out: {error}")
            return empty


def release_of(spans: Mapping[int, tuple[int, int]]) -> str | None:
    """Return the newest release whose APIs are all there, in its highest versions or later ones."""
    found = None
    for release, versions in releases().items():
        advertised = {
            key: high for key, (_, high) in versions.items() if key not in UNADVERTISED_APIS
        }
        if all(spans.get(key, (0, -1))[1] >= high for key, high in advertised.items()):
            found = ".".join(map(str, release))
    return found


def _set_at_run_time(entries: Iterable[ConfigEntry], source: ConfigSource) -> dict[str, str]:
    """Return the values with this source; those of secrets are left out."""
    return {
        entry.name: entry.value
        for entry in sorted(entries, key=lambda entry: entry.name)
        if entry.source == source and entry.value is not None
    }


def _feature_levels(served: "messages.ApiVersionsResponse") -> dict[str, int]:
    """Return the finalized levels; 0 stands for a feature that is known and not finalized."""
    levels = dict.fromkeys((feature.name for feature in served.supported_features or ()), 0)
    for feature in served.finalized_features or ():
        levels[feature.name] = feature.max_version_level
    return dict(sorted(levels.items()))


def _in_chunks(items: Iterable[T]) -> Iterable[list[T]]:
    left = iter(items)
    while some := list(islice(left, TOPICS_OF_REQUEST)):
        yield some
