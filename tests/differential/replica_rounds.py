"""Random changes of replicated topics while brokers stop, and what both clusters say of them.

All sequences of a run are played at the same time, each with its own topic of several replicas. A
round stops or starts a broker, or leaves them alone, and then does one operation with each topic
that has a leader.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.differential.clusters import ComparedCluster
from tests.differential.player import Link

CONTROLLER = 1
"""The only voter of Kafka's quorum. It is never stopped, so it is always in sync."""
BROKERS = (1, 2, 3)
MOVES = 5
"""How often a run stops or starts a broker."""
CONFIG = {
    "auto.leader.rebalance.enable": "false",
    # So soon a broker is fenced that was killed.
    "broker.session.timeout.ms": "9000",
}
BASE_TIMESTAMP = 1_700_000_000_000
_LISTED = (-1, -2, -3, BASE_TIMESTAMP, BASE_TIMESTAMP + 5)
_FETCHED = range(0, 8, 2)
_EPOCHS = range(9)
_LAST_FETCHED = [(offset, epoch) for offset in (2, 5, 9) for epoch in (0, 2, 4)]
_ISOLATION_LEVELS = {"uncommitted": 0, "committed": 1}

NO_LEADER = -1
Operation = Sequence[Any]
"""Its name and arguments: `produce` with acks, the number of records and their
timestamp, `alter` with a value of
min.insync.replicas, `delete_records` with an offset.
"""
Move = tuple[str, int]
"""`stop`, `kill` or `start`, and the broker."""


@dataclass(frozen=True, slots=True)
class ReplicaSequence:
    """What is done with one topic: its replicas, the first of which leads, and its operations."""

    replicas: Sequence[int]
    min_insync_replicas: int
    operations: Sequence[Operation]
    has_unclean_elections: bool = False


@dataclass(frozen=True, slots=True)
class ReplicaRun:
    """Sequences that are played together, and the move at the begin of each round."""

    sequences: Sequence[ReplicaSequence]
    moves: Sequence[Move | None]

    def only(self, numbers: Sequence[int]) -> "ReplicaRun":
        """Return a run of some of the sequences, with the same moves."""
        return ReplicaRun([self.sequences[number] for number in numbers], self.moves)

    def described(self, number: int, index: int) -> str:
        """Return what is done with one topic up to a round."""
        sequence = self.sequences[number]
        done = list(zip(self.moves, sequence.operations, strict=True))[: index + 1]
        steps = "\n".join(f"  {move or ''} {operation}" for move, operation in done)
        unclean = ", unclean elections" if sequence.has_unclean_elections else ""
        settings = f"{sequence.replicas}, min.insync.replicas={sequence.min_insync_replicas}"
        return f"{settings}{unclean}\n{steps}"


@dataclass(slots=True)
class ReplicaPlay:
    """Plays the steps of a run with one cluster; `seen` has what it says after each round."""

    cluster: ComparedCluster
    prefix: str
    seen: list[list[dict[str, Any]]] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _names_with_sizes: list[str] = field(default_factory=list)
    _leaders: dict[str, int] = field(default_factory=dict)
    _stopped: set[int] = field(default_factory=set)
    _links: dict[int, Link] = field(default_factory=dict)

    def create(self, sequences: Iterable[ReplicaSequence]) -> None:
        """Create the topic of each sequence."""
        for number, sequence in enumerate(sequences):
            name = f"{self.prefix}-{number}"
            config = {
                "min.insync.replicas": str(sequence.min_insync_replicas),
                "retention.ms": "-1",  # The timestamps are old.
                "unclean.leader.election.enable": str(sequence.has_unclean_elections).lower(),
            }
            topic = {
                "name": name,
                "num_partitions": -1,
                "replication_factor": -1,
                "assignments": [{"partition_index": 0, "broker_ids": list(sequence.replicas)}],
                "configs": [{"name": key, "value": value} for key, value in config.items()],
            }
            created = self._ask(
                CONTROLLER, ApiKey.CREATE_TOPICS, 5, topics=[topic], timeout_ms=10_000
            )
            assert created["topics"][0]["error_code"] == 0, created
            self._names.append(name)
            if all(operation[0] != "delete_records" for operation in sequence.operations):
                self._names_with_sizes.append(name)

    def move(self, kind: str, node_id: int) -> None:
        """Stop, kill or start a broker."""
        if kind == "start":
            self.cluster.start_broker(node_id)
            self._stopped.remove(node_id)
        else:
            if node_id in self._links:
                self._links.pop(node_id).close()
            stop = self.cluster.kill_broker if kind == "kill" else self.cluster.stop_broker
            stop(node_id)
            self._stopped.add(node_id)

    def partitions(self) -> list[list[Any]]:
        """Return what each broker that runs says of each topic.

        That is error code, leader, leader epoch and in-sync replicas, and whether the leader
        leads. A broker that has not yet heard of a change shows in the result.
        """
        described = [self._described_by(node_id) for node_id in self._running()]
        self._leaders = {
            name: leader
            for name, (_error, leader, _epoch, _isr) in zip(self._names, described[0], strict=True)
        }
        leads = [self._leads(name) for name in self._names]
        return [list(said) for said in zip(*described, leads, strict=True)]

    def do(self, operations: Iterable[Operation]) -> list[Any]:
        """Do one operation with each topic, and return what the cluster answers.

        Nobody answers for a topic without a leader.
        """
        return [
            getattr(self, f"_{kind}")(name, *arguments)
            if self._leaders[name] != NO_LEADER
            else None
            for name, (kind, *arguments) in zip(self._names, operations, strict=True)
        ]

    def look(self) -> list[dict[str, Any]]:
        """Return what the leader of each topic says of its log, and each broker of its size."""
        sizes = self._sizes()
        return [
            self._look_at(name) | {"sizes": sizes[name]} if self._leaders[name] != NO_LEADER else {}
            for name in self._names
        ]

    def close(self) -> None:
        """Start what was stopped, delete the topics and close the connections."""
        for node_id in sorted(self._stopped):
            self.move("start", node_id)
        self._ask(CONTROLLER, ApiKey.DELETE_TOPICS, 5, topic_names=self._names, timeout_ms=10_000)
        for link in self._links.values():
            link.close()

    def _running(self) -> list[int]:
        return [node_id for node_id in BROKERS if node_id not in self._stopped]

    def _look_at(self, name: str) -> dict[str, Any]:
        found = {
            f"{what} {argument} {isolation}": ask(name, argument, level)
            for isolation, level in _ISOLATION_LEVELS.items()
            for what, ask, arguments in (
                ("offset", self._offset, _LISTED),
                ("fetch", self._fetched, _FETCHED),
            )
            for argument in arguments
        }
        found |= {f"end of epoch {epoch}": self._epoch_end(name, epoch) for epoch in _EPOCHS}
        return found | {
            f"fetch {offset} after epoch {epoch}": self._diverging(name, offset, epoch)
            for offset, epoch in _LAST_FETCHED
        }

    def _leads(self, name: str) -> bool:
        is_up = self._leaders[name] not in (NO_LEADER, *self._stopped)
        return is_up and self._epoch_end(name, 0)[0] == ErrorCode.NONE

    def _sizes(self) -> dict[str, dict[str, Any]]:
        """Return size and lag of the replicas on brokers that run, by topic and broker.

        Without topics of which records are deleted: with Kafka a segment of the leader still has
        what a follower need not fetch any more.
        """
        sizes: dict[str, dict[str, Any]] = {name: {} for name in self._names}
        topics = [{"topic": name, "partitions": [0]} for name in self._names_with_sizes]
        for node_id in self._running():
            described = self._ask(node_id, ApiKey.DESCRIBE_LOG_DIRS, 2, topics=topics)
            for topic in described["results"][0]["topics"]:
                (found,) = topic["partitions"]
                sizes[topic["name"]][f"broker {node_id}"] = [
                    found["partition_size"],
                    found["offset_lag"],
                ]
        return sizes

    def _ask(self, node_id: int, api_key: ApiKey, version: int, **arguments: Any) -> Any:
        return self._link(node_id).ask(api_key, version, **arguments)

    def _ask_leader(
        self, name: str, api_key: ApiKey, version: int, partition: Mapping[str, Any], **other: Any
    ) -> Any:
        topics = [{"topic" if api_key == ApiKey.FETCH else "name": name, "partitions": [partition]}]
        return self._ask(self._leaders[name], api_key, version, topics=topics, **other)

    def _link(self, node_id: int) -> Link:
        if node_id not in self._links:
            self._links[node_id] = Link(self.cluster.address(node_id, "PLAINTEXT"), "replicas")
        return self._links[node_id]

    def _described_by(self, node_id: int) -> list[Any]:
        topics = [{"name": name} for name in self._names]
        described = self._ask(
            node_id, ApiKey.METADATA, 7, topics=topics, allow_auto_topic_creation=False
        )
        found = {topic["name"]: topic["partitions"] for topic in described["topics"]}
        return [
            [part["error_code"], part["leader_id"], part["leader_epoch"], sorted(part["isr_nodes"])]
            for name in self._names
            for part in found[name] or [_MISSING]
        ]

    def _produce(self, name: str, acks: int, records: int, timestamp: int) -> Any:
        batch = {"records": [["k", "v"]] * records, "timestamp": timestamp}
        partition = {"index": 0, "records": {"batches": [batch]}}
        topics = [{"name": name, "partition_data": [partition]}]
        arguments = {"transactional_id": None, "acks": acks, "timeout_ms": 9000}
        link = self._link(self._leaders[name])
        if acks == 0:
            link.post(ApiKey.PRODUCE, 9, **arguments, topic_data=topics)
            link.pending.pop()
            return None
        produced = link.ask(ApiKey.PRODUCE, 9, **arguments, topic_data=topics)
        found = produced["responses"][0]["partition_responses"][0]
        return [found["error_code"], found["base_offset"], found["log_start_offset"]]

    def _alter(self, name: str, min_insync_replicas: int) -> Any:
        config = {
            "name": "min.insync.replicas",
            "config_operation": 0,
            "value": str(min_insync_replicas),
        }
        resource = {"resource_type": 2, "resource_name": name, "configs": [config]}
        altered = self._ask(
            CONTROLLER,
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            1,
            resources=[resource],
            validate_only=False,
        )
        return altered["responses"][0]["error_code"]

    def _delete_records(self, name: str, offset: int) -> Any:
        partition = {"partition_index": 0, "offset": offset}
        deleted = self._ask_leader(name, ApiKey.DELETE_RECORDS, 2, partition, timeout_ms=9000)
        found = deleted["topics"][0]["partitions"][0]
        return [found["error_code"], found["low_watermark"]]

    def _offset(self, name: str, timestamp: int, isolation_level: int) -> Any:
        partition = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}
        listed = self._ask_leader(
            name,
            ApiKey.LIST_OFFSETS,
            7,
            partition,
            replica_id=-1,
            isolation_level=isolation_level,
        )
        found = listed["topics"][0]["partitions"][0]
        return [found[key] for key in ("error_code", "offset", "timestamp", "leader_epoch")]

    def _fetched(self, name: str, fetch_offset: int, isolation_level: int) -> Any:
        partition = {
            "partition": 0,
            "current_leader_epoch": -1,
            "fetch_offset": fetch_offset,
            "log_start_offset": -1,
            "partition_max_bytes": 1 << 20,
        }
        fetched = self._ask_leader(
            name,
            ApiKey.FETCH,
            11,
            partition,
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=isolation_level,
            session_epoch=-1,
        )
        found = fetched["responses"][0]["partitions"][0]
        keys = ("error_code", "high_watermark", "last_stable_offset", "log_start_offset")
        offsets = [
            record["offset"] for batch in found["records"] or () for record in batch["records"]
        ]
        return [*(found[key] for key in keys), offsets]

    def _epoch_end(self, name: str, leader_epoch: int) -> Any:
        partition = {"partition": 0, "current_leader_epoch": -1, "leader_epoch": leader_epoch}
        topics = [{"topic": name, "partitions": [partition]}]
        answered = self._ask(
            self._leaders[name], ApiKey.OFFSET_FOR_LEADER_EPOCH, 3, replica_id=-1, topics=topics
        )
        found = answered["topics"][0]["partitions"][0]
        return [found[key] for key in ("error_code", "leader_epoch", "end_offset")]

    def _diverging(self, name: str, fetch_offset: int, last_fetched_epoch: int) -> Any:
        partition = {
            "partition": 0,
            "current_leader_epoch": -1,
            "fetch_offset": fetch_offset,
            "last_fetched_epoch": last_fetched_epoch,
            "log_start_offset": -1,
            "partition_max_bytes": 1 << 20,
        }
        fetched = self._ask(
            self._leaders[name],
            ApiKey.FETCH,
            12,
            topics=[{"topic": name, "partitions": [partition]}],
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=0,
            session_epoch=-1,
        )
        found = fetched["responses"][0]["partitions"][0]
        return [found["error_code"], found["diverging_epoch"]]


_MISSING = {"error_code": -1, "leader_id": -1, "leader_epoch": -1, "isr_nodes": []}


# What is tried ------------------------------------------------------------------------------


def random_run(seed: int, topics: int, rounds: int) -> ReplicaRun:
    """Return a run of this many sequences; the same for the same arguments."""
    chance = random.Random(seed)
    moves = _random_moves(chance, rounds)
    return ReplicaRun([_random_sequence(chance, moves) for _ in range(topics)], moves)


def _random_moves(chance: random.Random, rounds: int) -> list[Move | None]:
    """Return the moves; the first round has none, so that a topic has records."""
    moves: list[Move | None] = [None] * rounds
    stopped: set[int] = set()
    for index in sorted(chance.sample(range(1, rounds), MOVES)):
        others = [node_id for node_id in BROKERS if node_id != CONTROLLER]
        running = [node_id for node_id in others if node_id not in stopped]
        # One broker alone is rare otherwise, and most is held back then.
        node_id = chance.choice(running if running and chance.random() < 0.7 else others)
        moves[index] = ("start" if node_id in stopped else "stop", node_id)
        stopped ^= {node_id}
    return moves


def running_and_leaders(
    replicas: Sequence[int], moves: Sequence[Move | None]
) -> list[tuple[int, int]]:
    """Return, for each round, how many brokers run and which one leads a topic."""
    stopped: set[int] = set()
    leader = replicas[0]
    found = []
    for move in moves:
        if move is not None:
            stopped ^= {move[1]}
        if leader in stopped:
            leader = next(node_id for node_id in replicas if node_id not in stopped)
        found.append((len(BROKERS) - len(stopped), leader))
    return found


def loses_records(replicas: Sequence[int], moves: Sequence[Move | None], index: int) -> bool:
    """Return whether the leader of this round is stopped before all replicas are in sync again.

    A record that is written behind the high watermark might then be lost, in Kafka alone.
    """
    rounds = running_and_leaders(replicas, moves)
    for running, leader in rounds[index:]:
        if leader != rounds[index][1]:
            return True
        if running == len(BROKERS):
            return False
    return False


def _random_sequence(chance: random.Random, moves: Sequence[Move | None]) -> ReplicaSequence:
    replicas = chance.sample(BROKERS, len(BROKERS))
    operations = [
        _random_operation(chance, must_replicate=loses_records(replicas, moves, index))
        for index in range(len(moves))
    ]
    return ReplicaSequence(replicas, chance.choice((1, 2, 2, 3, 3)), operations)


def _random_operation(chance: random.Random, *, must_replicate: bool) -> Operation:
    kind = chance.random()
    if kind < 0.12:
        return ["alter", chance.choice((1, 2, 3))]
    if kind < 0.24:
        return ["delete_records", chance.choice((-1, 0, 1, 2, 3, 5, 100))]
    acks = chance.choice((-1,) if must_replicate else (-1, 0, 1, 1, 1))
    return ["produce", acks, chance.choice((1, 1, 2, 3)), BASE_TIMESTAMP + chance.randrange(10)]
