"""Random failures of a cluster: outages, moved leaders, closed links, fault rules."""

from random import Random
from typing import TYPE_CHECKING

from broker.cluster import failover, paused_followers
from broker.cluster.brokers import Availability
from broker.cluster.coordinators import move_coordinator, move_transaction_coordinator
from broker.cluster.topics import NO_LEADER, Partition
from broker.faults import FaultRule
from simulation.network import Network
from tests.simulation.brokers import SimulatedServer

if TYPE_CHECKING:
    from collections.abc import Callable

OUTAGE_MS_MAX = 1_500
ERRORS = {
    "Produce": (
        "NOT_LEADER_OR_FOLLOWER",
        "NOT_ENOUGH_REPLICAS",
        "REQUEST_TIMED_OUT",
        "CORRUPT_MESSAGE",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ),
    "InitProducerId": ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"),
    "Fetch": ("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "FENCED_LEADER_EPOCH"),
    "Metadata": ("LEADER_NOT_AVAILABLE",),
    "JoinGroup": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "UNKNOWN_MEMBER_ID"),
    "SyncGroup": ("REBALANCE_IN_PROGRESS", "NOT_COORDINATOR"),
    "Heartbeat": ("NOT_COORDINATOR", "REBALANCE_IN_PROGRESS"),
    "OffsetCommit": ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"),
    "OffsetFetch": ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"),
    "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE",),
}
"""Retriable errors that make no claim about an append which was done."""


class Chaos:
    """Cause one failure after the other, until all faults end."""

    def __init__(
        self,
        server: SimulatedServer,
        network: Network,
        random: Random,
        groups: list[str],
    ) -> None:
        self._server = server
        self._cluster = server.cluster
        self._faults = server.dispatcher.faults
        self._network = network
        self._random = random
        self._groups = groups
        self.is_over = False
        """Whether all faults have ended."""
        self.deeds: list[Callable[[], None]] = [
            self.stop_broker,
            self.isolate_broker,
            self.move_leader,
            self.move_leader,
            self.take_leader_away,
            self.cut_links,
            self.add_fault,
            self.add_fault,
            self.move_coordinator,
            self.pause_follower,
        ]

    def do_something(self) -> None:
        """Cause one failure."""
        if not self.is_over:
            self._random.choice(self.deeds)()

    def heal(self) -> None:
        """End all failures."""
        self.is_over = True
        now_ms = self._server.clock.now_ms()
        self._faults.clear()
        for node_id in self._cluster.brokers:
            self._start(node_id)
        for topic in self._cluster.topics.all():
            for partition in topic.partitions:
                self._resume(partition)
                if partition.leader_id == NO_LEADER:
                    self._cluster.move_leader(partition, partition.replicas[0], now_ms)

    def pause_follower(self) -> None:
        """Have a follower lag for some time, while its broker is up."""
        found = [part for part in self._partitions(None) if len(part.replicas) > 1]
        if not found:
            return
        partition = self._random.choice(found)
        node_id = self._random.choice(partition.replicas)
        if node_id != partition.leader_id:
            self._network.trace(f"broker {node_id} does not follow {partition.topic_name}")
            now_ms = self._server.clock.now_ms()
            paused_followers.pause_follower(self._cluster, partition, node_id, now_ms)
            delay_ms = self._random.randint(1, OUTAGE_MS_MAX)
            self._network.schedule.after(delay_ms, lambda: self._resume(partition))

    def _resume(self, partition: Partition) -> None:
        topic = self._cluster.topics.get(partition.topic_name)
        if topic is not None and partition in topic.partitions:
            for node_id in partition.paused_followers:
                paused_followers.resume_follower(
                    self._cluster, partition, node_id, self._server.clock.now_ms()
                )

    def stop_broker(self) -> None:
        """Stop a broker; the election may come later, or after its restart."""
        node_id = self._some_broker()
        elect = self._random.random() < 0.7
        self._network.trace(f"broker {node_id} stops, elect={elect}")
        failover.stop_broker(self._cluster, node_id, self._server.clock.now_ms(), elect=elect)
        self.come_back(node_id)

    def isolate_broker(self) -> None:
        """Isolate a broker: data that is sent to it waits."""
        node_id = self._some_broker()
        elect = self._random.random() < 0.5
        self._network.trace(f"broker {node_id} is cut off, elect={elect}")
        failover.isolate_broker(self._cluster, node_id, self._server.clock.now_ms(), elect=elect)
        self.come_back(node_id)

    def come_back(self, node_id: int) -> None:
        """Start a broker some time later."""
        delay_ms = self._random.randint(1, OUTAGE_MS_MAX)
        self._network.schedule.after(delay_ms, lambda: self._start(node_id))

    def _start(self, node_id: int) -> None:
        broker = self._cluster.brokers[node_id]
        if broker.availability is not Availability.UP or not broker.is_alive:
            self._network.trace(f"broker {node_id} is back")
            failover.start_broker(self._cluster, node_id, self._server.clock.now_ms())

    def _some_broker(self) -> int:
        return self._random.choice(tuple(self._cluster.brokers))

    def _partitions(self, topic_name: str | None) -> list[Partition]:
        return [
            partition
            for topic in self._cluster.topics.all()
            for partition in topic.partitions
            if topic_name in {None, topic.name}
        ]

    def move_leader(self, topic_name: str | None = None) -> None:
        """Make another broker the leader of a partition, of this topic or of any."""
        alive = self._cluster.alive_broker_ids()
        partitions = self._partitions(topic_name)
        if alive and partitions:
            partition, node_id = self._random.choice(partitions), self._random.choice(alive)
            self._network.trace(
                f"{partition.topic_name}-{partition.partition_index} is led by {node_id} now"
            )
            self._cluster.move_leader(partition, node_id, self._server.clock.now_ms())

    def take_leader_away(self, topic_name: str | None = None) -> None:
        """Remove the leader of a partition for some time, of this topic or of any."""
        partitions = self._partitions(topic_name)
        if not partitions:
            return
        partition = self._random.choice(partitions)
        self._network.trace(f"{partition.topic_name}-{partition.partition_index} has no leader")
        self._cluster.set_leader(partition, NO_LEADER, self._server.clock.now_ms())

        def give_back() -> None:
            topic = self._cluster.topics.get(partition.topic_name)
            is_there = topic is not None and partition in topic.partitions
            alive = self._cluster.alive_broker_ids()
            if is_there and partition.leader_id == NO_LEADER and alive:
                self._cluster.move_leader(partition, alive[0], self._server.clock.now_ms())

        self._network.schedule.after(self._random.randint(1, OUTAGE_MS_MAX), give_back)

    def move_coordinator(self) -> None:
        """Make another broker the coordinator of a group."""
        alive = self._cluster.alive_broker_ids()
        if alive and self._groups:
            group, node_id = self._random.choice(self._groups), self._random.choice(alive)
            self._network.trace(f"{group} is coordinated by {node_id} now")
            move_coordinator(self._cluster, group, node_id, self._server.clock.now_ms())

    def move_transaction_coordinator(self, transactional_id: str) -> None:
        """Make another broker the coordinator of a transactional id."""
        alive = self._cluster.alive_broker_ids()
        if alive:
            node_id = self._random.choice(alive)
            self._network.trace(f"transactions of {transactional_id} are coordinated by {node_id}")
            move_transaction_coordinator(
                self._cluster, transactional_id, node_id, self._server.clock.now_ms()
            )

    def cut_links(self) -> None:
        """Close some connections at once."""
        for link in self._network.links:
            if link.is_open and self._random.random() < 0.3:
                link.cut()

    def add_fault(self) -> None:
        """Add a fault rule of the broker for some time."""
        rule = self.some_rule()
        self._network.trace(f"fault: {rule.to_json()}")
        self._faults.add(rule, self._server.clock.now_ms())

    def some_rule(self) -> FaultRule:
        """Return a fault rule that clients can cope with."""
        random = self._random
        api = random.choice(tuple(ERRORS))
        where = {
            "api": api,
            "times": random.randint(1, 3),
            "skip": random.randint(0, 3),
            "until_ms": 2_000,
            "seed": random.randrange(1 << 30),
        }
        what = random.choice(
            (
                {"error": random.choice(ERRORS[api])},
                {"drop": random.choice(("before_handling", "before_response", "within_response"))},
                {"hang": random.choice(("before_handling", "before_response"))},
                {"delay_ms": random.randint(1, 800), "jitter_ms": 50},
                {"delay_request_ms": random.randint(1, 800), "jitter_ms": 50},
                {"throttle_time_ms": random.randint(1, 500)},
                {"stale_metadata": True, "api": "Metadata"},
                {"bytes_per_second": random.randint(1_000, 100_000)},
            )
        )
        return FaultRule.from_json(where | what)
