"""The document of a cluster, and its file."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from broker.http_admin.recorded_parts import AskedRequest, RecordedBroker, RecordedCluster
from broker.http_admin.snapshot_document import SavedPartition, SavedRecord, Snapshot
from broker.http_admin.topic_records import BytesBody, HeaderBody
from client.resources import PartitionDescription, TopicDescription
from protocol.records import Record
from proxy.recording.kept_records import KeptRecords
from proxy.recording.log_reader import LogEnds
from proxy.recording.world import ClusterParts, world_of, write_world

KEY = ("t", 0)


def parts(
    *node_ids: int, replicas: Sequence[int] = (), ends: LogEnds | None = None
) -> ClusterParts:
    """Return a cluster with these brokers and topic `t`."""
    partition = PartitionDescription(0, -1, tuple(replicas or node_ids), ())
    topic = TopicDescription("t", None, is_internal=False, partitions=(partition,))
    brokers = [RecordedBroker(node_id, f"rack-{node_id}") for node_id in node_ids]
    return ClusterParts(
        [topic],
        {"t": {"retention.ms": "1"}},
        {} if ends is None else {KEY: ends},
        [],
        [],
        [],
        [],
        RecordedCluster("id", brokers),
    )


def partition_of(found: ClusterParts, *records: Record) -> SavedPartition:
    kept = KeptRecords(1_000_000)
    kept.add(KEY, records)
    (topic,) = world_of(found, kept).topics
    assert (topic.name, topic.config) == ("t", {"retention.ms": "1"})
    return topic.partitions[0]


def record(offset: int) -> Record:
    return Record(offset, 5, None, b"", ())


def test_records_are_text_or_base64() -> None:
    headers = (("h", b"\xff"), ("n", None))
    found = partition_of(parts(1, ends=LogEnds(0, 9)), Record(3, 5, "é".encode(), None, headers))
    assert found.records == [
        SavedRecord(
            3, 5, "é", None, [HeaderBody("h", BytesBody(base64="/w==")), HeaderBody("n", None)]
        )
    ]
    assert (found.log_start_offset, found.log_end_offset) == (0, 9)


@pytest.mark.parametrize(
    ("ends", "offsets", "expected"),
    [
        (LogEnds(2, 9), (3, 5), (2, 9)),
        (LogEnds(4, 5), (3, 8), (3, 9)),  # retention has removed some, and more came
        (LogEnds(4, 9), (), (4, 9)),
        (None, (3, 5), (3, 6)),
        (None, (), (0, 0)),
        (LogEnds(0, 2**40), (2**40 - 1,), (2**40 - 1, 2**40)),
        (LogEnds(0, 2**40), (), (2**40, 2**40)),
    ],
)
def test_a_log_has_its_ends_and_all_kept_records(
    ends: LogEnds | None, offsets: tuple[int, ...], expected: tuple[int, int]
) -> None:
    found = partition_of(parts(1, ends=ends), *map(record, offsets))
    assert (found.log_start_offset, found.log_end_offset) == expected
    assert [saved.offset for saved in found.records] == list(offsets)


@pytest.mark.parametrize(
    ("node_ids", "replicas", "expected"),
    [
        ((4, 5, 6), (6, 4), ([6, 4], [4, 5, 6])),
        ((0, 101), (101, 0), ([2, 1], [1, 2])),
        ((1, 2), (2, 7), ([2], [1, 2])),  # broker 7 is down
    ],
)
def test_node_ids_count_on(
    node_ids: tuple[int, ...], replicas: tuple[int, ...], expected: tuple[list[int], list[int]]
) -> None:
    world = world_of(parts(*node_ids, replicas=replicas), KeptRecords(1))
    assert world.cluster is not None
    assert (
        world.topics[0].partitions[0].replicas,
        [broker.node_id for broker in world.cluster.brokers],
    ) == expected
    assert [broker.rack for broker in world.cluster.brokers] == [f"rack-{n}" for n in node_ids]


def test_a_world_has_the_requests() -> None:
    requests = [AskedRequest("Fetch", 1, topics=["t"])]
    assert world_of(parts(1), KeptRecords(1), requests).requests == requests


@pytest.mark.parametrize("name", ["world.mk", "world.mk.gz"])
def test_a_file_is_replaced_at_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("old")
    write_world(path, Snapshot())
    data = path.read_bytes()
    document = json.loads(gzip.decompress(data) if name.endswith("gz") else data)
    assert document["topics"] == []
    assert [found.name for found in tmp_path.iterdir()] == [name]
    write_world(path, Snapshot())
    assert path.read_bytes() == data
    with pytest.raises(OSError, match="No such file"):
        write_world(tmp_path / "none" / name, Snapshot())
