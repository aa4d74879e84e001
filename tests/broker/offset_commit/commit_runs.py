"""A cluster with a group of each kind, whose members commit offsets."""

from dataclasses import dataclass
from typing import Any

from benchmarks.in_process import InProcessBroker
from benchmarks.request_bytes import decode_response, frame_request
from broker.dispatch.dispatcher import Dispatcher
from broker.faults import fault_rule
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.framing import SIZE_BYTES
from tests.broker.cluster_builder import ALL_VERSIONS, make_cluster

PARTITIONS = 2
OFFSETS = "__consumer_offsets"
SIMPLE, CLASSIC, CONSUMER = "simple", "classic", "consumer"
_Topic = messages.OffsetCommitRequest.OffsetCommitRequestTopic

Change = tuple[str, *tuple[Any, ...]]
"""A method of `CommitRun` and its arguments."""


@dataclass(frozen=True)
class Commit:
    """An OffsetCommit: the group that its sender is a member of, and its places."""

    group: str = CLASSIC
    version: int = 8
    topics: tuple[str, ...] = ("a",)
    indexes: tuple[int, ...] = (0,)


class CommitRun(InProcessBroker):
    """A broker, a connection, and a group of each kind."""

    def __init__(self) -> None:
        super().__init__()
        config = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}
        self.cluster = make_cluster(1, **config, **ALL_VERSIONS)
        self.dispatcher = Dispatcher(self.cluster, _raise, lambda: 0)
        for name in (OFFSETS, "a", "b"):
            overrides = {"cleanup.policy": "compact"} if name == OFFSETS else {}
            count = 1 if name == OFFSETS else PARTITIONS
            self.cluster.create_topic(name, [(1,)] * count, overrides)
        self.connection = self.connect()
        self.members: dict[str, tuple[str, int]] = {SIMPLE: ("", -1)}
        self._offset = 0
        self._join_classic()
        self._join_consumer()

    def _join_classic(self) -> None:
        protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
        joined = self.connection.ask(
            messages.JoinGroupRequest(
                version=3,
                group_id=CLASSIC,
                session_timeout_ms=10_000,
                rebalance_timeout_ms=10_000,
                member_id="",
                protocol_type="consumer",
                protocols=[protocol],
            )
        )
        self.connection.ask(
            messages.SyncGroupRequest(
                version=3,
                group_id=CLASSIC,
                generation_id=joined.generation_id,
                member_id=joined.member_id,
                group_instance_id=None,
                assignments=[],
            )
        )
        self.members[CLASSIC] = joined.member_id, joined.generation_id

    def _join_consumer(self) -> None:
        beat = self.connection.ask(
            messages.ConsumerGroupHeartbeatRequest(
                version=1,
                group_id=CONSUMER,
                member_id="m",
                member_epoch=0,
                instance_id=None,
                rack_id=None,
                rebalance_timeout_ms=10_000,
                subscribed_topic_names=["a"],
                subscribed_topic_regex=None,
                server_assignor=None,
                topic_partitions=[],
            )
        )
        self.members[CONSUMER] = "m", beat.member_epoch

    # Changes -------------------------------------------------------------------------------

    def do(self, change: Change) -> None:
        """Change something."""
        name, *arguments = change
        getattr(self, name)(*arguments)

    def set_quota(self, key: str, value: float, is_shadow: bool) -> None:
        problem = self.cluster.quotas.clients.alter(
            (("user", "ANONYMOUS"),), [(key, value)], is_shadow=is_shadow
        )
        assert problem is None

    def keep_journal(self, is_enabled: bool) -> None:
        self.dispatcher.journal.is_enabled = is_enabled

    def add_rule(self) -> None:
        rule = fault_rule(api="Metadata", error="NOT_CONTROLLER")
        self.dispatcher.faults.add(rule, self.now_ms)

    # Requests ------------------------------------------------------------------------------

    def send(self, commit: Commit, count: int) -> list[int]:
        """Send requests in one read; return all error codes of their responses."""
        data = b"".join(self._frame(commit) for _ in range(count))
        written = self.connection.receive(data)
        codes = []
        while written:
            end = SIZE_BYTES + int.from_bytes(written[:SIZE_BYTES])
            codes += _codes(commit.version, written[:end])
            written = written[end:]
        return codes

    def _frame(self, commit: Commit) -> bytes:
        member_id, generation_id = self.members[commit.group]
        version = commit.version
        topics = []
        for name in commit.topics:
            known = self.cluster.topics.get(name)
            assert known is not None
            self._offset += 1
            fields: dict[str, Any] = {"topic_id": known.topic_id} if version >= 10 else {}
            topics.append(
                _Topic(
                    version=version,
                    **(fields or {"name": name}),
                    partitions=[
                        _Topic.OffsetCommitRequestPartition(
                            version=version,
                            partition_index=index,
                            committed_offset=self._offset,
                            committed_leader_epoch=-1,
                            committed_metadata="",
                        )
                        for index in commit.indexes
                    ],
                )
            )
        request = messages.OffsetCommitRequest(
            version=version,
            group_id=commit.group,
            generation_id_or_member_epoch=generation_id,
            member_id=member_id,
            group_instance_id=None,
            retention_time_ms=-1,
            topics=topics,
        )
        return frame_request(request, self._offset)

    @property
    def committed(self) -> list[Any]:
        """All that the groups have committed, and the end of their log."""
        log = self.cluster.topics.get(OFFSETS)
        assert log is not None
        groups = self.cluster.groups
        found: list[Any] = [list(groups.table.all_committed(group)) for group in self.members]
        return [*found, log.partitions[0].log.log_end_offset]


def _codes(version: int, frame: bytes) -> list[int]:
    response = decode_response(ApiKey.OFFSET_COMMIT, version, frame)
    return [part.error_code for topic in response.topics for part in topic.partitions]


def _raise(error: BaseException, _context: object) -> None:
    raise error
