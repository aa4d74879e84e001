"""Everything that the cluster has for share groups (KIP-932): members, states, leaders."""

from collections.abc import Callable, Set
from typing import Any

from broker.cluster.group_log import GroupLog
from broker.cluster.internal_topics import GROUP_METADATA, SHARE_GROUP_STATE
from broker.cluster.share_leaders import ShareLeader
from broker.cluster.share_log import ShareLog
from broker.cluster.topics import Partition, Topic, TopicTable
from broker.config.api_versions import release_of
from broker.config.broker_config import BrokerConfig
from broker.config.resource_keys import group_setting
from broker.groups.consumer.topics import TopicSource
from broker.groups.group_records import AppendRecords
from broker.share_groups.coordinator import ShareGroupCoordinator
from broker.share_groups.share_state import ShareStates
from broker.timers import Timers
from protocol.pacing import may_pause, paced


class ShareGroups:
    """The group coordinator, the share coordinators and the leaders of share partitions."""

    def __init__(
        self,
        config: BrokerConfig,
        topics: TopicTable,
        group_topics: TopicSource,
        timers: Timers,
        append_records: AppendRecords,
        is_taken: Callable[[str], bool],
    ) -> None:
        """`append_records` writes to `__consumer_offsets`; `is_taken` is that of the groups."""
        self._config = config
        self._timers = timers
        self.log = ShareLog(topics, config)
        self.states = ShareStates(
            has_partition=topics.has_partition,
            append_record=self.log.append,
            updates_per_snapshot=config["share.coordinator.snapshot.update.records.per.snapshot"],
            release=release_of(config),
        )
        self.groups = ShareGroupCoordinator(
            config,
            timers,
            group_topics,
            self.setting,
            append_records,
            self.states.initialize_all,
            is_taken,
        )
        self.leaders: dict[int, ShareLeader] = {}
        """The share sessions and share partitions of each broker, by node id."""

    def setting(self, group_id: str, name: str) -> Any:
        """Return the value of a key of a group, which may be that of the brokers."""
        return group_setting(self._config, group_id, name)

    def set_config(self, config: BrokerConfig) -> None:
        """Replace the configuration of the brokers and groups."""
        self._config = config
        self.groups.config = config

    def add_leader(self, node_id: int) -> None:
        """Prepare a broker for leading share partitions."""
        sessions_max = self._config.for_broker(node_id)["group.share.max.share.sessions"]
        self.leaders[node_id] = ShareLeader(sessions_max, self._timers)

    def switch_off(self, now_ms: int) -> None:
        """End all share sessions: the feature is off."""
        for leader in self.leaders.values():
            leader.clear(now_ms)

    @may_pause
    def restart_sessions(self, group_log: GroupLog, indexes: Set[int], now_ms: int) -> None:
        """Begin the sessions of the groups in some partitions again: these have new leaders."""
        for group in paced(self.groups.all()):
            is_there = self.groups.get(group.group_id) is group
            if is_there and group_log.partition_index(group.group_id) in indexes:
                self.groups.restart_sessions(group, now_ms)

    def leave_leader(self, topic: Topic | None, partition: Partition, now_ms: int) -> None:
        """Forget the records in flight of a partition on its leader, which changes."""
        leader = self.leaders.get(partition.leader_id)
        if leader is not None and leader.partitions and topic is not None:
            leader.drop_partition(topic.topic_id, partition.partition_index, now_ms)

    def delete_topic(self, topic: Topic, now_ms: int) -> None:
        """Forget a topic that is deleted."""
        if topic.name == GROUP_METADATA.name:
            self.groups.forget_all()
        if topic.name == SHARE_GROUP_STATE.name:
            self.states.forget_all()
            self.log.forget_all()
        self.groups.forget_topic(topic.topic_id, now_ms)
        self.states.forget_topic(topic.topic_id, now_ms)
        for partition in topic.partitions:
            self.leave_leader(topic, partition, now_ms)
