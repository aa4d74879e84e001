"""The coordinators of groups, which a cluster makes when a request first needs them (ADR 24)."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from broker.cluster.brokers import Broker
from broker.cluster.fetch_sessions import FetchSessionCache
from broker.cluster.group_log import GroupLog
from broker.cluster.topics import TopicTable
from broker.config.api_versions import release_of
from broker.config.broker_config import BrokerConfig
from broker.config.resource_keys import group_setting
from broker.timers import Timers

if TYPE_CHECKING:  # their imports take a quarter of the start
    from broker.cluster.group_topics import GroupTopics
    from broker.cluster.share_groups import ShareGroups
    from broker.groups.coordinator import GroupCoordinator
    from broker.groups.modern_rules import ModernRules


class ClusterParts(Protocol):
    """What the coordinators are made of; the configuration may be replaced."""

    config: BrokerConfig
    timers: Timers
    topics: TopicTable
    brokers: dict[int, Broker]
    group_log: GroupLog
    fetch_sessions: dict[int, FetchSessionCache]
    new_uuid: Callable[[], UUID]

    @property
    def shared_config(self) -> Mapping[str, Any]:
        """The configuration of state that brokers share."""
        ...

    def in_turns(self, work: Callable[[], None], /) -> None:
        """Run what takes long, in turns with requests."""


def modern_rules(cluster: ClusterParts) -> "ModernRules":
    """Return the rules of the release for groups whose coordinator assigns."""
    from broker.groups.modern_rules import rules_of  # noqa: PLC0415

    return rules_of(release_of(cluster.shared_config))


class LateCoordinators:
    """Those that a cluster has made since its last reset; it makes each one once."""

    def __init__(self, cluster: ClusterParts) -> None:
        self._cluster = cluster

    @cached_property
    def groups(self) -> "GroupCoordinator":
        """The coordinator of groups of the classic and the consumer protocol."""
        from broker.groups.consumer.membership import new_member_id  # noqa: PLC0415
        from broker.groups.coordinator import GroupCoordinator  # noqa: PLC0415

        cluster, new_uuid = self._cluster, self._cluster.new_uuid
        return GroupCoordinator(
            config=cluster.config,
            timers=cluster.timers,
            member_id_suffix=lambda: str(new_uuid()),
            member_id=lambda: new_member_id(new_uuid),
            append_records=cluster.group_log.append,
            topics=self._group_topics,
            setting=lambda group_id, key: group_setting(cluster.config, group_id, key),
            is_share_group=lambda group_id: group_id in self.share.groups,
            in_turns=cluster.in_turns,
            rules=lambda: modern_rules(cluster),
        )

    @property
    def has_share(self) -> bool:
        """Whether what share groups need has been made."""
        return "share" in self.__dict__

    @cached_property
    def share(self) -> "ShareGroups":
        """What the cluster has for share groups."""
        from broker.cluster.share_groups import ShareGroups  # noqa: PLC0415

        cluster = self._cluster
        made = ShareGroups(
            cluster.config,
            cluster.topics,
            self._group_topics,
            cluster.timers,
            cluster.group_log.append,
            is_taken=self.groups.table.__contains__,
        )
        for node_id in cluster.fetch_sessions:
            made.add_leader(node_id)
        return made

    @cached_property
    def _group_topics(self) -> "GroupTopics":
        from broker.cluster.group_topics import GroupTopics  # noqa: PLC0415

        cluster = self._cluster
        return GroupTopics(cluster.topics, lambda: cluster.brokers)

    def add_share_leader(self, node_id: int) -> None:
        """Prepare a new broker for leading share partitions."""
        if self.has_share:  # else it does so for all brokers when it is made
            self.share.add_leader(node_id)

    def end_share_sessions(self, node_id: int, connection_id: int, now_ms: int) -> None:
        """End the share sessions of a connection to a broker: it has closed."""
        leader = self.share.leaders.get(node_id) if self.has_share else None
        if leader is not None:
            leader.disconnect(connection_id, now_ms)
