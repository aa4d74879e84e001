"""Watch the state of a cluster: who leads, which replicas are in sync, and which brokers serve."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from broker.cluster.brokers import Availability, Broker
from broker.cluster.cluster import Cluster
from broker.cluster.made_partitions import MadePartitions
from broker.cluster.topics import NO_LEADER, Partition, Topic
from broker.groups.requests import CommitRequest
from protocol.errors import ErrorCode
from protocol.records import read_header
from tests.simulation.history import History, LeaderChange
from tests.simulation.virtual_time import Schedule


class ClusterWatch:
    """Note each change of a leader, and what contradicts the metadata of the cluster."""

    def __init__(
        self,
        cluster: Cluster,
        schedule: Schedule,
        history: History,
        now_ms: Callable[[], int],
    ) -> None:
        """`now_ms` is the clock of the brokers."""
        self._cluster = cluster
        self._now_ms = now_ms
        self._schedule = schedule
        self._history = history
        # Instance attributes: mutants patch the class before.
        for name in ("set_leader", "set_replicas"):
            setattr(cluster, name, self._noting_leader(getattr(cluster, name)))
        cluster.set_isr = self._noting_election(cluster.set_isr)  # type: ignore[method-assign]
        add_partitions, appended = cluster.add_partitions, cluster.appended

        def add(
            topic: Topic,
            assignments: Sequence[tuple[int, ...]],
            made: MadePartitions | None = None,
        ) -> None:
            add_partitions(topic, assignments, made)
            for partition in topic.partitions[-len(assignments) :]:
                self._note(partition)

        def check_and_account(
            topic: Topic, partition: Partition, byte_count: int, now_ms: int
        ) -> None:
            self._check_isr(topic, partition)
            appended(topic, partition, byte_count, now_ms)

        commit = cluster.groups.table.commit

        def check_and_commit(
            request: CommitRequest, now_ms: int, verify: Callable[[], ErrorCode] | None = None
        ) -> tuple[ErrorCode, ...]:
            error_codes = commit(request, now_ms, verify)
            if ErrorCode.NONE in error_codes:
                self._check_generation(request)
            return error_codes

        cluster.groups.table.commit = check_and_commit  # type: ignore[method-assign]
        cluster.add_partitions = add  # type: ignore[method-assign]
        cluster.appended = check_and_account  # type: ignore[method-assign]

    def _noting_leader(self, method: Callable[..., None]) -> Callable[..., None]:
        @wraps(method)
        def change(partition: Partition, *rest: Any) -> None:
            leader_id, leader_epoch = partition.leader_id, partition.leader_epoch
            method(partition, *rest)
            if partition.leader_id != leader_id and partition.leader_epoch <= leader_epoch:
                self._report(partition, f"another leader than {leader_id} in the same epoch")
            if (partition.leader_id, partition.leader_epoch) != (leader_id, leader_epoch):
                self._note(partition)

        return change

    def _noting_election(self, set_isr: Callable[..., None]) -> Callable[..., None]:
        @wraps(set_isr)
        def change(
            partition: Partition, isr: Sequence[int], now_ms: int, *rest: Any, **options: Any
        ) -> None:
            if isr and set(isr).isdisjoint(partition.isr):
                place = partition.topic_name, partition.partition_index
                self._history.out_of_sync_elections.setdefault(place, []).append(now_ms)
            set_isr(partition, isr, now_ms, *rest, **options)

        return change

    def _note(self, partition: Partition) -> None:
        topic = self._cluster.topics.get(partition.topic_name)
        if topic is None or partition not in topic.partitions:
            return  # its topic was deleted
        place = partition.topic_name, partition.partition_index
        self._history.leaders.setdefault(place, []).append(
            LeaderChange(self._schedule.time_ms, partition.leader_id, partition.leader_epoch)
        )

    def note_availability(self, broker: Broker) -> None:
        """Note that a broker stops or begins to serve its connections."""
        outages = self._history.outages.setdefault(broker.node_id, [])
        now_ms = self._schedule.time_ms
        if outages and outages[-1][1] is None:
            outages[-1] = outages[-1][0], now_ms
        if broker.availability is Availability.DOWN:
            self._history.stops.append((broker.node_id, now_ms))
        if broker.availability is not Availability.UP:
            outages.append((now_ms, None))

    def check(self) -> None:
        """Report leaders that are not in sync or not alive, wrong ISRs, and late timers."""
        self._check_timers()
        alive_ids = set(self._cluster.alive_broker_ids())
        may_be_empty = self._cluster.features.has_eligible_leader_replicas
        for topic in self._cluster.topics.all():
            for partition in topic.partitions:
                leader_id, isr = partition.leader_id, set(partition.isr)
                if not isr and not may_be_empty:
                    self._report(partition, "the ISR is empty")
                if not isr.issubset(partition.replicas):
                    self._report(partition, "the ISR has brokers that are no replicas")
                if not isr <= alive_ids and not isr.isdisjoint(alive_ids):
                    self._report(partition, "a broker that is not alive is in sync")
                if leader_id != NO_LEADER and leader_id not in isr:
                    self._report(partition, "the leader is not in sync")
                if leader_id != NO_LEADER and leader_id not in alive_ids:
                    self._report(partition, "the leader is not alive")

    def _check_timers(self) -> None:
        due_ms = self._cluster.timers.next_due_ms()
        if due_ms is not None and due_ms < self._now_ms():
            self._history.timers.append(f"one is {self._now_ms() - due_ms} ms late")

    def _check_generation(self, request: CommitRequest) -> None:
        """Report a commit that is stored when its generation is over."""
        group = self._cluster.groups.describe(request.group_id)
        if group is None or request.generation_id < 0:
            return
        if group.generation_id != request.generation_id:
            self._history.late_commits.append(
                f"{request} is stored in generation {group.generation_id}"
            )

    def _check_isr(self, topic: Topic, partition: Partition) -> None:
        """Report a batch of an idempotent producer, whose acks is -1, that the ISR forbids."""
        required = min(topic.config["min.insync.replicas"], len(partition.replicas))
        if topic.is_internal or len(partition.isr) >= required:
            return
        for batch in partition.log.read(partition.log.log_end_offset - 1, 1, at_least_one=True):
            if read_header(batch, 0).producer_id >= 0:
                self._report(partition, f"{len(partition.isr)} of {required} replicas are in sync")

    def _report(self, partition: Partition, problem: str) -> None:
        self._history.metadata.append(
            f"{partition.topic_name}-{partition.partition_index}: {problem}: leader"
            f" {partition.leader_id}, ISR {partition.isr}, replicas {partition.replicas}"
        )
