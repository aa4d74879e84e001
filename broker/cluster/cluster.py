"""The state of the cluster: brokers, topics, groups, ids, timers, configuration.

A cluster of several brokers runs in one process and on one thread. Handlers get it as their last
argument. Nothing else keeps state that a request can change.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from broker.addresses import Address
from broker.authorization.configured import configured_authorizer
from broker.cluster.brokers import Availability, Broker
from broker.cluster.client_metrics import ClientInstances
from broker.cluster.controller_queue import ControllerQueue
from broker.cluster.eligible_leaders import full_isr, replace_isr, with_common_min_insync_replicas
from broker.cluster.fetch_sessions import FetchSessionCache
from broker.cluster.finalized_features import features_at_start
from broker.cluster.group_log import GroupLog
from broker.cluster.high_watermark import maybe_move
from broker.cluster.internal_topics import GROUP_METADATA, TRANSACTION_STATE, note_appended
from broker.cluster.late_coordinators import LateCoordinators
from broker.cluster.log_memory import MemoryBound
from broker.cluster.made_partitions import Assignments, MadePartitions, new_partitions
from broker.cluster.moved_groups import MovedGroups
from broker.cluster.producer_rules import adopt_rule_of_leader, has_limit_of_ids
from broker.cluster.quotas import QuotaManagers
from broker.cluster.topics import NO_LEADER, Partition, Topic, TopicTable, place_replicas
from broker.cluster.transaction_log import TransactionLog
from broker.config.broker_config import BrokerConfig
from broker.config.features import TRANSACTION_VERSION
from broker.config.listener_values import ADVERTISED_LISTENERS, ReloadedCertificates
from broker.config.topic_config import TopicConfig
from broker.routes import RoutesByBroker
from broker.security.credentials import configured_credentials
from broker.security.delegation_tokens import configured_delegation_tokens
from broker.timers import Timers
from broker.transactions.coordinator import TransactionCoordinator
from broker.transactions.marker import MarkerSender
from producer_state.allocator import ProducerIdAllocator
from protocol.pacing import InTurns, at_once, may_pause, paced, paced_elements

if TYPE_CHECKING:  # the cluster makes them late
    from broker.cluster.share_groups import ShareGroups
    from broker.groups.coordinator import GroupCoordinator


class Cluster:
    """The state, and operations that keep its invariants; no sockets, clock or messages."""

    @may_pause
    def __init__(
        self,
        config: BrokerConfig,
        broker_count: int,
        *,
        cluster_id: str,
        new_uuid: Callable[[], UUID],
        node_ids: Sequence[int] = (),
    ) -> None:
        """`new_uuid` returns ids and the seeds of hashes; a seeded one makes a run repeatable."""
        self._first_config, self._first_cluster_id = config, cluster_id
        self.new_uuid = new_uuid
        self.timers = Timers()
        node_ids = node_ids or range(config.first_node_id, config.first_node_id + broker_count)
        self._first_brokers = {n: Broker(n, "", -1) for n in node_ids}
        self.first_node_ids = tuple(self._first_brokers)
        """The node ids of the brokers that exist from the start."""
        self.brokers = dict(self._first_brokers)
        """Registered brokers by node id, ascending."""
        self.on_availability_change: Callable[[Broker], None] | None = None
        """Called when a broker's `availability` has changed; the server closes its sockets."""
        self.on_config_change: Callable[[], None] | None = None
        self.certificates: ReloadedCertificates | None = None
        """Those of the TLS listeners, if there is a server."""
        self.run_in_turns: InTurns = at_once
        self.on_new_leader: Callable[[int, int], None] | None = None
        """Called with a node id and the time when a broker begins to lead a partition."""
        self.on_leaders_change: Callable[[int], None] | None = None
        """Called with the time when a broker or a leader may be there again."""
        self.marker_sender: MarkerSender | None = None
        """Sends the markers of transactions under fault rules; else they are written at once."""
        self.generation = 0
        """Changes with topics, their configuration, replicas, leaders and ISRs, and with quotas."""
        self._begin()

    @may_pause
    def _begin(self) -> None:
        """Set everything that requests can change to its state at the start."""
        config, new_uuid = self._first_config, self.new_uuid
        self.cluster_id = self._first_cluster_id
        self.features = features_at_start(config, map(config.for_broker, self.brokers))
        self.features_at_start = dict(self.features.levels)
        if self.features.has_eligible_leader_replicas:
            config = with_common_min_insync_replicas(config)
        self.config = self.config_at_start = config
        self.routes = RoutesByBroker(config)
        self.client_instances = ClientInstances()
        self.controller_id = self.first_node_ids[0]
        self.controller_epoch = 1
        """Rises when another broker becomes the controller."""
        self.decommissioned: dict[int, Broker] = {}
        self.topics = TopicTable()
        self.note_change()
        self.producer_ids = ProducerIdAllocator()
        self.group_log = GroupLog(self.topics, self.shared_config)
        self._moved_groups = MovedGroups(self.timers, self.group_log, self.in_turns)
        self.coordinators = LateCoordinators(self)
        self.transaction_log = TransactionLog(self.topics, self.shared_config)
        self.transactions = TransactionCoordinator(
            config, partial(self.features.level, TRANSACTION_VERSION), self.transaction_log
        )
        self.quotas = QuotaManagers(config, self.brokers, new_seed=lambda: new_uuid().bytes)
        self.quotas.clients.on_change = self.note_change
        self.controller_queue = ControllerQueue(
            self.timers, self.shared_config["controller.mutation.time.us"], self.in_turns
        )
        self.quotas.metrics.add(self.controller_queue.measurements)
        self.fetch_sessions: dict[int, FetchSessionCache] = {}
        """The fetch sessions of each broker, by node id."""
        for node_id in self.brokers:
            self.add_fetch_sessions(node_id)
        self.delegation_tokens = configured_delegation_tokens(config, new_uuid)
        self.authorizer = configured_authorizer(config, self.note_change)
        self.credentials = configured_credentials(config, self.delegation_tokens, new_uuid)
        self.log_bytes = 0
        """Bytes of all stored batches of all partitions, without those of internal topics."""
        self.log_bytes_max: int = config["log.memory.max.bytes"]
        """What `log_bytes` may be, before old batches are deleted."""
        self._memory_bound = MemoryBound(self)
        self.limits_producer_ids = has_limit_of_ids(config, self.brokers)
        """Whether a broker stops, as if out of memory, when it leads too many producer ids."""
        # The broker of the next topic's first partition, so that leaders spread over the brokers.
        self._next_placement = 0

    @may_pause
    def reset(self) -> None:
        """Reset all state to that of the start, and cancel all timers.

        Close all connections first. Brokers keep their addresses; added brokers are removed.
        """
        self.timers.clear()
        self.brokers = dict(self._first_brokers)
        self._begin()
        for broker in self.brokers.values():
            broker.is_alive, broker.is_shutting_down = True, False
            broker.altered_endpoints = {}
            self.set_availability(broker, Availability.UP)

    @may_pause
    def in_turns(self, work: Callable[[], None]) -> None:
        """Run what a timer has to do for a request, in turns with others."""
        self.run_in_turns(work)

    @property
    def shared_config(self) -> Mapping[str, Any]:
        """The configuration of state that brokers share: topics and memory.

        A value that was set for a single broker applies only if there is no other broker.
        """
        config = self.config
        return config if len(self.brokers) > 1 else config.for_broker(next(iter(self.brokers)))

    def note_change(self) -> None:
        """Have what is remembered of requests looked up again."""
        self.generation += 1

    # Brokers -------------------------------------------------------------------------------

    def addresses(self, listener: str) -> list[tuple[Broker, Address]]:
        """Return every broker with its advertised address of a listener."""
        return [(broker, broker.address(listener)) for broker in self.brokers.values()]

    def alive_broker_ids(self) -> list[int]:
        """Return the node ids of brokers that are up, ascending."""
        return [broker.node_id for broker in self.brokers.values() if broker.is_alive]

    def is_alive(self, node_id: int) -> bool:
        """Whether a broker is up; one that was decommissioned is not."""
        return (broker := self.brokers.get(node_id)) is not None and broker.is_alive

    # Coordinators --------------------------------------------------------------------------

    @property
    def groups(self) -> "GroupCoordinator":
        """The coordinator of groups of the classic and the consumer protocol."""
        return self.coordinators.groups

    @property
    def share(self) -> "ShareGroups":
        """What the cluster has for share groups."""
        return self.coordinators.share

    def coordinator_id(self, group_id: str) -> int | None:
        """Return the coordinator of a group: its partition's leader in `__consumer_offsets`."""
        return self._leader_id(self.group_log.partition(group_id))

    def transaction_coordinator_id(self, transactional_id: str) -> int | None:
        """Return the coordinator: the leader of the id's partition of `__transaction_state`."""
        return self._leader_id(self.transaction_log.partition(transactional_id))

    def _leader_id(self, partition: Partition | None) -> int | None:
        leader_id = NO_LEADER if partition is None else partition.leader_id
        return leader_id if self.is_alive(leader_id) else None

    def add_fetch_sessions(self, node_id: int) -> None:
        """Give a broker its caches of fetch sessions and share sessions, unless it has them."""
        if node_id in self.fetch_sessions:
            return
        self.coordinators.add_share_leader(node_id)
        slot_count = self.config.for_broker(node_id)["max.incremental.fetch.session.cache.slots"]
        sessions = FetchSessionCache(slot_count, new_random=lambda: self.new_uuid().int)
        self.fetch_sessions[node_id] = sessions
        self.quotas.metrics.add(sessions.measurements, {"broker-id": str(node_id)})

    # Availability ----------------------------------------------------------------------------

    @may_pause
    def set_availability(self, broker: Broker, availability: Availability) -> None:
        """Set whether the sockets of a broker accept and respond, and notify the server."""
        if availability is Availability.UP:
            broker.note_start()
        if broker.availability is not availability:
            broker.availability = availability
            self.transactions.disconnect(broker.node_id)
            if self.on_availability_change is not None:
                self.on_availability_change(broker)

    def broker(self, node_id: int) -> Broker:
        """Return a broker by its node id.

        Raises:
            ValueError: there is no such broker.
        """
        broker = self.brokers.get(node_id)
        if broker is None:
            known = ", ".join(map(str, self.brokers))
            raise ValueError(f"there is no broker {node_id}, only {known}")
        return broker

    def alive_broker(self, node_id: int) -> Broker:
        """Return a broker that is up.

        Raises:
            ValueError: there is no such broker, or it is down.
        """
        broker = self.broker(node_id)
        if not broker.is_alive:
            raise ValueError(f"broker {node_id} is down")
        return broker

    # Topics --------------------------------------------------------------------------------

    def place(
        self, partition_count: int, replication_factor: int, usable: Sequence[int] | None = None
    ) -> list[tuple[int, ...]]:
        """Return replicas for the partitions of a new topic, on brokers that are up or `usable`."""
        broker_ids = self.alive_broker_ids() if usable is None else usable
        first = self._next_placement % len(broker_ids)
        return place_replicas(broker_ids, partition_count, replication_factor, first)

    def create_topic(
        self,
        name: str,
        assignments: Assignments,
        overrides: Mapping[str, str],
        made: MadePartitions | None = None,
        topic_id: UUID | None = None,
    ) -> Topic:
        """Create a topic whose name, assignments and configuration were checked before."""
        config = TopicConfig(self.shared_config, overrides)
        topic = Topic(name, topic_id or self.new_uuid(), [], config)
        topic.by_broker = topic.on_different_brokers(topic.config, self.config)
        self.topics.add(topic)
        self.add_partitions(topic, assignments, made)
        if not topic.is_internal:
            # Where the topics of clients are does not depend on when the first group came.
            self._next_placement += len(assignments)
        return topic

    def add_partitions(
        self, topic: Topic, assignments: Assignments, made: MadePartitions | None = None
    ) -> None:
        """Add one partition per assignment to a topic; the assignments were checked before."""
        made_of = self.alive_broker_ids(), self.config, self.timers
        topic.partitions += new_partitions(topic, assignments, made, *made_of, self.freed)
        self.groups.table.note_topic_change(topic.name)

    @may_pause
    def delete_topic(self, topic: Topic, now_ms: int) -> None:
        """Delete a topic with its records and producers, and what coordinators keep of or in it."""
        self.topics.remove(topic)
        self.note_change()
        if topic.name == GROUP_METADATA.name:
            self.groups.table.forget_all(now_ms)
        if topic.name == TRANSACTION_STATE.name:
            self.transactions.forget_all()
        self.groups.table.forget_topic(topic.name, now_ms)
        self.share.delete_topic(topic, now_ms)
        self.groups.table.note_topic_change(topic.name)
        for partition in topic.partitions:
            partition.leader_id = NO_LEADER
        # Nobody appends to them any more, so other requests may come in between.
        for partition in paced(topic.partitions):
            self.freed(partition, partition.log.size_bytes)
            # What remembers the partition for the next request of a client keeps no records.
            self._memory_bound.discard(partition.log.take_all(), now_ms)
            partition.log.wake(now_ms)

    def alter_topic_config(self, topic: Topic, overrides: Mapping[str, str]) -> None:
        """Replace a topic's own, checked configuration; it applies from the next request on."""
        self.note_change()
        config = TopicConfig(self.shared_config, overrides)
        self.topics.replace_config(topic, config, topic.on_different_brokers(config, self.config))

    @may_pause
    def set_config(self, config: BrokerConfig) -> None:
        """Replace the configuration of the brokers; many topics and leaders adopt it in turns."""
        self.config = config
        self.groups.table.config = config
        self.share.set_config(config)
        self.transactions.config = config
        self.group_log.use(self.shared_config)
        self.transaction_log.use(self.shared_config)
        self.log_bytes_max = self.shared_config["log.memory.max.bytes"]
        self.controller_queue.mutation_time_us = self.shared_config["controller.mutation.time.us"]
        self.limits_producer_ids = has_limit_of_ids(config, self.brokers)
        self.routes = RoutesByBroker(config)
        for node_id, broker in self.brokers.items():
            broker.alter_endpoints(config.dynamic_layer(node_id).get(ADVERTISED_LISTENERS, ""))
        for topic in paced(self.topics.all()):
            self.alter_topic_config(topic, topic.config.overrides)
            for partition in paced_elements(tuple(topic.partitions)):
                adopt_rule_of_leader(self.config, partition)
        if self.on_config_change is not None:
            self.on_config_change()

    # Leaders -------------------------------------------------------------------------------

    def set_leader(self, partition: Partition, leader_id: int, now_ms: int) -> None:
        """Set the leader, or NO_LEADER, and begin a new leader epoch."""
        if partition.leader_id == leader_id:
            return
        topic = self.topics.get(partition.topic_name)
        self.share.leave_leader(topic, partition, now_ms)
        self.note_change()
        partition.leader_id = leader_id
        partition.leader_epoch += 1
        if leader_id != NO_LEADER:
            partition.last_known_leader_id = NO_LEADER
        if topic is not None:  # else it was deleted
            maybe_move(topic, partition, now_ms)
        partition.log.wake(now_ms)
        adopt_rule_of_leader(self.config, partition)
        if partition.topic_name == GROUP_METADATA.name:
            index = partition.partition_index
            self._moved_groups.unload(index, self.groups.table, self.share, now_ms)
        if self.on_leaders_change is not None:
            self.on_leaders_change(now_ms)
        if self.on_new_leader is not None and self.limits_producer_ids and leader_id != NO_LEADER:
            self.on_new_leader(leader_id, now_ms)

    @may_pause
    def move_leader(self, partition: Partition, node_id: int, now_ms: int) -> None:
        """Make a broker the leader; one that is no replica replaces the old leader.

        Raises:
            ValueError: there is no such broker, or it is down.
        """
        self.alive_broker(node_id)
        if node_id not in partition.replicas:
            led = partition.leader_id in partition.replicas
            old_id = partition.leader_id if led else partition.replicas[0]
            replicas = [node_id if n == old_id else n for n in partition.replicas]
            self.assign(partition, replicas, now_ms)
            partition.adding_replicas = partition.removing_replicas = ()
        in_sync = {*filter(self.is_alive, partition.isr), node_id}
        self.set_isr(partition, [n for n in partition.replicas if n in in_sync], now_ms)
        self.set_leader(partition, node_id, now_ms)

    def assign(self, partition: Partition, replicas: Sequence[int], now_ms: int) -> None:
        """Set the replicas; with few of them, fewer have to be in sync."""
        self.note_change()
        partition.assign(replicas)
        topic = self.topics.get(partition.topic_name)
        assert topic is not None
        maybe_move(topic, partition, now_ms)

    @may_pause
    def set_replicas(self, partition: Partition, replicas: Sequence[int], now_ms: int) -> None:
        """Finish a reassignment: all new replicas have caught up and are in sync.

        A new leader epoch begins if the leader changes or a replica is removed
        (`PartitionChangeBuilder.triggerLeaderEpochBumpForReplicaReassignmentIfNeeded`).
        """
        removes_any = not set(partition.replicas) <= set(replicas)
        self.assign(partition, replicas, now_ms)
        self.groups.table.note_topic_change(partition.topic_name)
        partition.adding_replicas = partition.removing_replicas = ()
        self.expand_isr(partition, now_ms)
        leader_id = partition.leader_id
        if leader_id not in partition.isr:
            in_sync = (n for n in replicas if n in partition.isr)
            leader_id = next(filter(self.is_alive, in_sync), NO_LEADER)
        if leader_id != partition.leader_id:
            self.set_leader(partition, leader_id, now_ms)
        elif removes_any:
            partition.leader_epoch += 1

    @may_pause
    def set_isr(
        self, partition: Partition, isr: Sequence[int], now_ms: int, *, is_clean: bool = True
    ) -> None:
        """Replace the ISR; `is_clean` is false if committed records may be missing in it."""
        self.note_change()
        topic = self.topics.get(partition.topic_name)
        assert topic is not None
        keeps_eligible = is_clean and self.features.has_eligible_leader_replicas
        replace_isr(topic, partition, isr, keeps_eligible=keeps_eligible)
        maybe_move(topic, partition, now_ms)

    @may_pause
    def expand_isr(self, partition: Partition, now_ms: int) -> None:
        """Add replicas that are up to the ISR, and remove those that are down."""
        can_be_empty = self.features.has_eligible_leader_replicas
        isr = full_isr(partition, self.is_alive, self.config, can_be_empty=can_be_empty)
        self.set_isr(partition, isr, now_ms)

    # Records -------------------------------------------------------------------------------

    def appended(self, topic: Topic, partition: Partition, byte_count: int, now_ms: int) -> None:
        """Account for an appended batch: enforce the memory bound, then wake waiting requests."""
        log = partition.log
        if topic.is_internal:
            note_appended(topic, partition, now_ms)
        else:
            self.log_bytes += byte_count
        log.appended_ms = now_ms
        if self.log_bytes > self.log_bytes_max:
            self._memory_bound.after_append(topic, partition, byte_count, now_ms)
        if log.waiters:
            log.wake(now_ms)

    def delete_records_before(self, partition: Partition, offset: int, now_ms: int) -> None:
        """Move a partition's log start offset up; `offset` lies within the log."""
        log, topic = partition.log, self.topics.get(partition.topic_name)
        assert topic is not None
        before_bytes = log.size_bytes
        log.advance_start(offset, topic.on_broker(partition.leader_id).segment_settings)
        self.freed(partition, before_bytes - log.size_bytes)
        log.wake(now_ms)

    def freed(self, partition: Partition, byte_count: int) -> None:
        """Account for deleted batches."""
        if not partition.is_internal:
            self.log_bytes -= byte_count
