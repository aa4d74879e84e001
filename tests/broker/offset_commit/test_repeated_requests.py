"""OffsetCommits have the same effects with and without what their connection remembers."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from benchmarks.in_process import InProcessBroker
from benchmarks.request_bytes import frame_request
from broker.dispatch.dispatcher import Dispatcher
from broker.groups.group_table import GroupTable
from broker.groups.results import CommittedOffset
from broker.offset_commit import repeated_requests
from protocol import messages
from tests.broker.cluster_builder import ALL_VERSIONS, make_cluster
from tests.examples import examples

PARTITIONS = 2
LATEST = 10
OFFSETS = "__consumer_offsets"
FREE, CLASSIC, CONSUMER = "free", "classic", "consumer"
_Topic = messages.OffsetCommitRequest.OffsetCommitRequestTopic

Step = tuple[str, dict[str, Any]]
Entry = tuple[str, int, int, int, str | None]
"""Topic, partition, offset, leader epoch, metadata."""


class Client(InProcessBroker):
    """Two brokers, two connections to the first one, and a group of each kind."""

    def __init__(self, **overrides: str) -> None:
        super().__init__()
        self.now_ms = 1_700_000_000_000
        config = {"group.initial.rebalance.delay.ms": "0", "offset.metadata.max.bytes": "10"}
        config["offsets.topic.num.partitions"] = "1"
        self.cluster = make_cluster(2, **config, **ALL_VERSIONS, **overrides)
        self.bugs: list[BaseException] = []
        self.dispatcher = Dispatcher(
            self.cluster, lambda error, _context: self.bugs.append(error), lambda: 0
        )
        self.cluster.create_topic(OFFSETS, [(1, 2)], {"cleanup.policy": "compact"})
        self.connections = [self.connect() for _ in range(2)]
        self.written: list[Any] = []
        self.members: dict[str, tuple[str, int]] = {FREE: ("", -1)}
        for topic in "ab":
            self.create(topic)
        self.join()
        self.heartbeat()

    def ask(self, request: Any) -> Any:
        return self.connections[0].ask(request)

    def do(self, step: Step) -> None:
        name, arguments = step
        getattr(self, name)(**arguments)
        self.cluster.timers.run_due(self.now_ms)

    def join(self) -> None:
        """Join the classic group as its only member, which begins a generation."""
        member_id, _ = self.members.get(CLASSIC, ("", 0))
        protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
        joined = self.ask(
            messages.JoinGroupRequest(
                version=3,
                group_id=CLASSIC,
                session_timeout_ms=10_000,
                rebalance_timeout_ms=10_000,
                member_id=member_id,
                protocol_type="consumer",
                protocols=[protocol],
            )
        )
        self.members[CLASSIC] = joined.member_id, joined.generation_id

    def sync(self) -> None:
        member_id, generation_id = self.members[CLASSIC]
        self.ask(
            messages.SyncGroupRequest(
                version=3,
                group_id=CLASSIC,
                generation_id=generation_id,
                member_id=member_id,
                group_instance_id=None,
                assignments=[],
            )
        )

    def heartbeat(self) -> None:
        """Join the consumer group, or go on in it."""
        member_id, epoch = self.members.get(CONSUMER, ("m", 0))
        beat = self.ask(
            messages.ConsumerGroupHeartbeatRequest(
                version=1,
                group_id=CONSUMER,
                member_id=member_id,
                member_epoch=epoch,
                instance_id=None,
                rack_id=None,
                rebalance_timeout_ms=10_000,
                subscribed_topic_names=["a"],
                subscribed_topic_regex=None,
                server_assignor=None,
                topic_partitions=[],
            )
        )
        self.members[CONSUMER] = member_id, 0 if beat.error_code else beat.member_epoch

    def create(self, topic: str) -> None:
        if self.cluster.topics.get(topic) is None:
            self.cluster.create_topic(topic, [(1, 2)] * PARTITIONS, {})

    def delete(self, topic: str) -> None:
        known = self.cluster.topics.get(topic)
        if known is not None:
            self.cluster.delete_topic(known, self.now_ms)

    def lead(self, node_id: int) -> None:
        known = self.cluster.topics.get(OFFSETS)
        if known is not None:
            self.cluster.set_leader(known.partitions[0], node_id, self.now_ms)

    def shrink(self, isr: list[int]) -> None:
        known = self.cluster.topics.get(OFFSETS)
        if known is not None:
            self.cluster.set_isr(known.partitions[0], isr)

    def alter(self, key: str, value: str) -> None:
        known = self.cluster.topics.get(OFFSETS)
        if known is not None:
            self.cluster.alter_topic_config(known, {"cleanup.policy": "compact", key: value})

    def pend(self, group: str, topic: str) -> None:
        """Commit an offset in an open transaction."""
        committed = CommittedOffset(3, -1, "", self.now_ms)
        self.cluster.groups.transactional_offsets.add(0, 7, (group, topic, 0), committed)

    def end_transaction(self) -> None:
        self.cluster.groups.end_transaction(0, 7, is_commit=True)

    def advance(self, duration_ms: int) -> None:
        self.now_ms += duration_ms

    def commit(
        self,
        connection: int,
        version: int,
        group: str,
        entries: Sequence[Entry],
        generation_change: int,
    ) -> None:
        member_id, generation_id = self.members[group]
        topics = []
        for name, index, offset, leader_epoch, metadata in entries:
            known = self.cluster.topics.get(name)
            partition = _Topic.OffsetCommitRequestPartition(
                version=version,
                partition_index=index,
                committed_offset=offset,
                committed_leader_epoch=leader_epoch,
                committed_metadata=metadata,
            )
            topic = _Topic(version=version, name=name, partitions=[partition])
            if known is not None:
                topic.topic_id = known.topic_id
            topics.append(topic)
        request = messages.OffsetCommitRequest(
            version=version,
            group_id=group,
            generation_id_or_member_epoch=generation_id + generation_change,
            member_id=member_id,
            group_instance_id=None,
            retention_time_ms=-1,
            topics=topics,
        )
        data = frame_request(request, len(self.written))
        self.written.append(self.connections[connection].receive(data))

    def result(self) -> dict[str, Any]:
        """Return all that the requests leave behind."""
        groups = self.cluster.groups
        known = self.cluster.topics.get(OFFSETS)
        return {
            "written": self.written,
            "committed": {group: list(groups.all_committed(group)) for group in self.members},
            "pending": groups.transactional_offsets._pending,
            "log": [] if known is None else list(known.partitions[0].log.rewind()),
            "due": self.cluster.timers.next_due_ms(),
            "bugs": [repr(bug) for bug in self.bugs],
        }


def run(steps: Sequence[Step], **overrides: str) -> dict[str, Any]:
    client = Client(**overrides)
    for step in steps:
        client.do(step)
    return client.result()


def both(
    steps: Sequence[Step], **overrides: str
) -> tuple[dict[str, Any], dict[str, Any], list[bool]]:
    """Return the results with and without the shortcut, and each result of the shortcut."""
    taken: list[bool] = []
    commit_again = GroupTable.commit_again

    def noting(*arguments: Any) -> bool:
        taken.append(commit_again(*arguments))
        return taken[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GroupTable, "commit_again", noting)
        with_shortcut = run(steps, **overrides)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeated_requests, "_learn", lambda *_arguments: None)
        without = run(steps, **overrides)
    return with_shortcut, without, taken


def commit(*entries: Entry, **changes: Any) -> Step:
    usual: dict[str, Any] = {
        "connection": 0,
        "version": LATEST,
        "group": FREE,
        "entries": list(entries),
        "generation_change": 0,
    }
    return "commit", {**usual, **changes}


topics = st.sampled_from("aab")
groups = st.shared(st.sampled_from([FREE, CLASSIC, CONSUMER]), key="group")
offsets = st.integers(-(2**63), 2**63 - 1)
entries = st.tuples(
    topics,
    st.sampled_from([0, 0, 1, PARTITIONS]),
    offsets,
    st.sampled_from([-1, 0, 2**31 - 1]),
    st.sampled_from(["", "", "", None, "é", "longer than 10"]),
)
versions = st.shared(st.sampled_from([9, 10, 8, 7, 6, 5]), key="version")
usual = st.builds(
    lambda offset, version, group: commit(("a", 0, offset, -1, ""), version=version, group=group),
    offsets,
    versions,
    groups,
)
commits = st.builds(
    commit,
    entries,
    connection=st.sampled_from([0, 0, 0, 1]),
    version=versions,
    group=st.one_of(groups, groups, st.sampled_from([FREE, CLASSIC])),
    generation_change=st.sampled_from([0] * 8 + [-1, 1]),
)
several = st.builds(
    lambda found, version, group: commit(*found, version=version, group=group),
    st.lists(entries, max_size=4),
    versions,
    groups,
)
steps = st.one_of(
    usual,
    usual,
    usual,
    usual,
    commits,
    commits,
    several,
    several,
    st.sampled_from(
        [
            ("join", {}),
            ("sync", {}),
            ("heartbeat", {}),
            ("end_transaction", {}),
            ("shrink", {"isr": [1]}),
            ("shrink", {"isr": [1, 2]}),
            ("lead", {"node_id": 1}),
            ("lead", {"node_id": 2}),
            ("delete", {"topic": OFFSETS}),
            ("alter", {"key": "max.message.bytes", "value": "150"}),
            ("alter", {"key": "min.insync.replicas", "value": "2"}),
        ]
    ),
    st.tuples(st.sampled_from(["create", "delete"]), st.fixed_dictionaries({"topic": topics})),
    st.tuples(st.just("pend"), st.fixed_dictionaries({"group": groups, "topic": topics})),
    st.tuples(
        st.just("advance"),
        st.fixed_dictionaries({"duration_ms": st.sampled_from([1, 3_000, 11_000, 60_000])}),
    ),
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(steps, min_size=6, max_size=30))
def test_commits_have_the_same_effects_without_the_shortcut(found: list[Step]) -> None:
    with_shortcut, without, taken = both([("sync", {}), *found])
    event(f"taken: {min(sum(taken), 5)}")

    assert with_shortcut == without
    assert with_shortcut["bugs"] == []


@pytest.mark.parametrize(
    ("group", "version"),
    [
        *((group, version) for group in (FREE, CLASSIC) for version in (6, 7, 8, 9, 10)),
        *((CONSUMER, version) for version in (9, 10)),
    ],
)
def test_usual_commits_take_the_shortcut(group: str, version: int) -> None:
    usual: dict[str, Any] = {"version": version, "group": group}
    found, without, taken = both(
        [
            ("sync", {}),
            commit(("a", 0, 1, -1, ""), **usual),
            commit(("a", 0, 2, 5, ""), **usual),
            commit(("a", 0, 3, -1, "é"), ("b", 1, 4, -1, None), **usual),
            commit(("a", 0, 2**40, 0, "é"), ("b", 1, 2, -1, None), **usual),
        ]
    )

    assert found == without
    assert all(taken[-3:])


def test_compaction_finds_the_same_batches() -> None:
    commit_count = 1200
    found, without, taken = both(
        [commit(("a", 0, offset, -1, "")) for offset in range(commit_count)]
    )

    assert found == without
    assert sum(taken) >= commit_count - 1
    assert len(found["log"]) < commit_count


@pytest.mark.parametrize(
    "change",
    [
        ("delete", {"topic": "a"}),
        ("delete", {"topic": OFFSETS}),
        ("lead", {"node_id": 2}),
        ("alter", {"key": "max.message.bytes", "value": "100"}),
        ("join", {}),
        ("advance", {"duration_ms": 11_000}),
    ],
)
def test_a_commit_that_becomes_wrong_gets_the_error_of_the_ordinary_path(change: Step) -> None:
    usual = [commit(("a", 0, offset, -1, ""), group=CLASSIC) for offset in range(3)]
    found, without, taken = both([("sync", {}), *usual, change, usual[0]])

    assert found == without
    assert found["written"][-1] != found["written"][-2]
    assert any(taken)


def test_a_compressed_log_takes_the_ordinary_path() -> None:
    steps = [commit(("a", 0, offset, -1, "")) for offset in range(3)]
    found, without, taken = both(steps, **{"offsets.topic.compression.codec": "1"})

    assert found == without
    assert not taken
