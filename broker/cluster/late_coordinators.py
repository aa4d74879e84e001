"""The coordinators of groups, which a cluster makes when a request first needs them (ADR 24)."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from broker.cluster.brokers import Broker
from broker.cluster.fetch_sessions import FetchSessionCache
from broker.cluster.group_log import GroupLog
from broker.cluster.topics import TopicTable
from broker.config.broker_config import BrokerConfig
from broker.config.resource_keys import group_setting
from broker.timers import Timers
from protocol.pacing import InTurns

if TYPE_CHECKING:  # their imports take a quarter of the start
    from broker.cluster.group_topics import GroupTopics
    from broker.cluster.share_groups import ShareGroups
    from broker.groups.coordinator import GroupCoordinator

NAMES = ("groups", "share", "_group_topics")


class LateCoordinators:
    """The part of `Cluster` that has them, and what they are made of."""

    config: BrokerConfig
    timers: Timers
    topics: TopicTable
    brokers: dict[int, Broker]
    group_log: GroupLog
    fetch_sessions: dict[int, FetchSessionCache]
    new_uuid: Callable[[], UUID]
    in_turns: InTurns

    @cached_property
    def groups(self) -> "GroupCoordinator":
        """The coordinator of groups of the classic and the consumer protocol."""
        from broker.groups.consumer.membership import new_member_id  # noqa: PLC0415
        from broker.groups.coordinator import GroupCoordinator  # noqa: PLC0415

        new_uuid = self.new_uuid
        return GroupCoordinator(
            config=self.config,
            timers=self.timers,
            member_id_suffix=lambda: str(new_uuid()),
            member_id=lambda: new_member_id(new_uuid),
            append_records=self.group_log.append,
            topics=self._group_topics,
            setting=lambda group_id, key: group_setting(self.config, group_id, key),
            is_share_group=lambda group_id: group_id in self.share.groups,
            in_turns=lambda work: self.in_turns(work),  # noqa: PLW0108 - it is set later
        )

    @cached_property
    def share(self) -> "ShareGroups":
        """What the cluster has for share groups."""
        from broker.cluster.share_groups import ShareGroups  # noqa: PLC0415

        append, is_taken = self.group_log.append, self.groups.__contains__
        made = ShareGroups(
            self.config, self.topics, self._group_topics, self.timers, append, is_taken=is_taken
        )
        for node_id in self.fetch_sessions:
            made.add_leader(node_id)
        return made

    @cached_property
    def _group_topics(self) -> "GroupTopics":
        from broker.cluster.group_topics import GroupTopics  # noqa: PLC0415

        return GroupTopics(self.topics, lambda: self.brokers)

    def add_share_leader(self, node_id: int) -> None:
        """Prepare a new broker for leading share partitions."""
        if "share" in self.__dict__:  # else it does so for all brokers when it is made
            self.share.add_leader(node_id)

    def end_share_sessions(self, node_id: int, connection_id: int, now_ms: int) -> None:
        """End the share sessions of a connection to a broker: it has closed."""
        leader = self.share.leaders.get(node_id) if "share" in self.__dict__ else None
        if leader is not None:
            leader.disconnect(connection_id, now_ms)

    def forget_coordinators(self) -> None:
        """Have all of them made again when they are needed."""
        for name in NAMES:
            self.__dict__.pop(name, None)
