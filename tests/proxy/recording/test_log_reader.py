"""The last records of partitions, also where brokers move, and where offsets have no record."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from client.errors import ConnectionLostError
from client.resources import TopicDescription
from protocol import messages
from protocol.errors import ErrorCode
from proxy.recording.cluster_reader import ClusterReader
from proxy.recording.kept_records import KeptRecords
from proxy.recording.log_reader import RETRIES_MAX, LogEnds, LogReader
from proxy.recording.recorder import Recorder
from proxy.recording.scrubbing import UNSCRUBBED
from proxy.recording.world_admin import WorldAdmin
from tests.batches import make_batch
from tests.proxy.recording.fetched import fetch_response, stored

if TYPE_CHECKING:
    from collections.abc import Iterator


class Reading:
    """Reads topics of a cluster."""

    def __init__(
        self, admin: Any, records_max: int | None = None, *, has_aborted: bool = False
    ) -> None:
        self.admin = admin
        self.notes: list[str] = []
        self.progress: list[int] = []
        self.kept = KeptRecords(1_000_000, records_max)
        self.reader = LogReader(
            admin,
            Recorder(UNSCRUBBED, self.kept, lambda _topic_id: None, has_aborted=has_aborted),
            records_max=records_max,
            has_aborted=has_aborted,
            note=self.notes.append,
        )

    def offsets(self, name: str, partition: int = 0) -> list[int]:
        parts = ClusterReader(self.admin, name, pytest.fail)
        topics = parts.topics()
        self.reader.read(topics, parts.log_ends(topics), self.progress.append)
        return [record.offset for record in self.kept.records((name, partition))]


def test_all_records_are_read(world_admin: WorldAdmin) -> None:
    reading = Reading(world_admin)
    assert reading.offsets("orders", 1) == [2, 3, 4, 5, 6]
    assert reading.kept.records(("orders", 1))[-1].value == b"\xff"
    assert reading.progress == [1, 2]
    assert reading.notes == []


def test_offsets_without_records_are_no_records(world_admin: WorldAdmin) -> None:
    assert Reading(world_admin).offsets("payments") == [0, 1, 2, 8, 9, 10]
    everything = Reading(world_admin, has_aborted=True).offsets("payments")
    assert everything == [0, 1, 2, 4, 5, 6, 8, 9, 10]
    assert Reading(world_admin).offsets("states") == [7, 8, 9]


@pytest.mark.parametrize(
    ("records_max", "expected"),
    [
        (1, [10]),
        (3, [8, 9, 10]),
        (4, [2, 8, 9, 10]),
        (6, [0, 1, 2, 8, 9, 10]),
        (99, [0, 1, 2, 8, 9, 10]),
    ],
)
def test_the_last_records_are_found_behind_gaps(
    world_admin: WorldAdmin, records_max: int, expected: list[int]
) -> None:
    assert Reading(world_admin, records_max).offsets("payments") == expected


class Moving:
    """An admin client whose responses to Fetch come from a script, and whose leader moves."""

    def __init__(self, *responses: Any) -> None:
        self.responses: Iterator[Any] = iter(responses)
        self.offsets: list[int] = []
        self.pauses = 0

    def describe_cluster(self) -> Any:
        return type("Cluster", (), {"brokers": {1: "one", 2: "two"}})

    def describe_topics(self, names: list[str]) -> Any:
        return {name: topic(leader_id=2) for name in names}

    def fetch(self, leader: str, place: Any, *, is_committed: bool) -> Any:
        assert is_committed
        self.offsets.append(place.offset)
        response = next(self.responses)
        if isinstance(response, Exception):
            raise response
        if isinstance(response, int):
            failed = fetch_response()
            failed.responses[0].partitions[0].error_code = response
            failed.responses[0].partitions[0].log_start_offset = 5
            return failed
        return response if leader == "two" else fetch_response()

    def pause(self, _duration_ms: int) -> None:
        self.pauses += 1


def topic(leader_id: int = 1) -> TopicDescription:
    from client.resources import PartitionDescription  # noqa: PLC0415

    partition = PartitionDescription(0, leader_id, (1, 2), (1, 2))
    return TopicDescription("t", None, is_internal=False, partitions=(partition,))


def read(admin: Moving, described: TopicDescription | None = None) -> Reading:
    reading = Reading(admin)
    ends = {("t", 0): LogEnds(3, 7)}
    reading.reader.read([described or topic()], ends, lambda _count: None)
    return reading


def test_a_reader_follows_a_leader_and_a_lost_connection() -> None:
    batch = fetch_response(stored(make_batch(b"a", b"b"), 5))
    moved = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    lost = ConnectionLostError("lost")
    admin = Moving(moved, lost, int(ErrorCode.OFFSET_OUT_OF_RANGE), batch)
    reading = read(admin)
    assert admin.offsets == [3, 3, 3, 5]
    assert admin.pauses == 2
    assert [record.value for record in reading.kept.records(("t", 0))] == [b"a", b"b"]


def test_a_partition_that_cannot_be_read_is_noted() -> None:
    denied = read(Moving(int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
    assert denied.notes == ["t-0: its records are not all there: TOPIC_AUTHORIZATION_FAILED"]
    leaderless = Moving()
    leaderless.describe_topics = lambda names: dict.fromkeys(names, topic(9))  # type: ignore[method-assign]
    assert read(leaderless, topic(9)).notes[0].endswith("LEADER_NOT_AVAILABLE")
    assert leaderless.pauses == RETRIES_MAX


def test_a_response_without_the_partition_is_an_error() -> None:
    empty = messages.FetchResponse(error_code=0, responses=[])
    assert read(Moving(empty), topic(2)).notes[0].endswith("UNKNOWN_TOPIC_OR_PARTITION")
    failed = messages.FetchResponse(error_code=int(ErrorCode.UNKNOWN_SERVER_ERROR), responses=[])
    assert read(Moving(failed), topic(2)).notes[0].endswith("UNKNOWN_SERVER_ERROR")


def test_a_reader_stops_at_an_open_transaction() -> None:
    reading = read(Moving(fetch_response()), topic(2))
    assert (reading.notes, reading.kept.partitions()) == ([], [])


def test_a_partition_without_records_is_not_read() -> None:
    reading = Reading(Moving())
    described = topic()
    partition = replace(described.partitions[0], index=1)
    described = replace(described, partitions=(*described.partitions, partition))
    reading.reader.read([described], {("t", 0): LogEnds(3, 3)}, reading.progress.append)
    assert reading.progress == [1, 2]
