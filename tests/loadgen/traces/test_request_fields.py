"""Fields are found in both spellings; partition changes are counted from what a trace says."""

from typing import Any

import pytest

from loadgen.traces.request_fields import (
    Batches,
    PartitionCounts,
    batches_of,
    fetched_bytes,
    first_partition,
    learn_topic_ids,
    topic_name,
    topics_of,
    value,
)

JOURNAL_PRODUCE = {
    "topic_data": [
        {
            "name": "t",
            "partition_data": [
                {
                    "index": 3,
                    "records": {"bytes": 150, "batches": [{"record_count": 2, "producer_id": 7}]},
                },
                {
                    "index": 4,
                    "records": {"bytes": 70, "batches": [{"record_count": 1, "producer_id": 8}]},
                },
            ],
        }
    ]
}
KAFKA_PRODUCE = {
    "topicData": [{"topicId": "id", "partitionData": [{"index": 3, "recordsSizeInBytes": 220}]}]
}


def test_batches_are_summed_over_partitions() -> None:
    assert batches_of(JOURNAL_PRODUCE) == Batches(220, 3, 7)
    assert batches_of(KAFKA_PRODUCE) == Batches(220, 0, -1)


@pytest.mark.parametrize("message", [None, "undecodable: x", {}, {"topics": None}])
def test_a_message_that_is_unknown_has_no_fields(message: Any) -> None:
    assert topics_of(message) == []
    assert batches_of(message) == Batches(0, 0, -1)
    assert value(message, "group_id") is None


def test_topics_are_named_by_name_id_or_text() -> None:
    names: dict[str, str] = {}
    learn_topic_ids({"topics": [{"name": "t", "topicId": "id"}, {"name": None}]}, names)
    (by_id,) = topics_of(KAFKA_PRODUCE)
    assert topic_name(by_id, names) == "t"
    assert topic_name(by_id, {}) == "id"
    assert topic_name("plain", {}) == "plain"
    assert topic_name({"topic": "in fetch"}, {}) == "in fetch"
    assert first_partition(by_id) == 3
    assert first_partition({"partition_indexes": [2]}) == 2
    assert first_partition("plain") == -1


def test_fetched_bytes_are_those_of_records() -> None:
    partitions = [{"recordsSizeInBytes": 5}, {"recordsSizeInBytes": 6}]
    assert fetched_bytes({"responses": [{"partitions": partitions}]}) == 11


def test_mutations_follow_the_partitions_of_each_topic() -> None:
    counts = PartitionCounts()
    request = {
        "topics": [
            {"name": "a", "numPartitions": 3},
            {"name": "b", "numPartitions": -1, "assignments": [{}, {}]},
            {"name": "c", "numPartitions": -1},
            {"name": "d", "numPartitions": -1},
        ]
    }
    response = {"topics": [{"name": "c", "numPartitions": 6}]}
    assert counts.mutations("CreateTopics", request, response, {}) == 3 + 2 + 6 + 1
    expand = {"topics": [{"name": "a", "count": 5}, {"name": "unknown", "count": 9}]}
    assert counts.mutations("CreatePartitions", expand, None, {}) == 2 + 1
    delete = {"topicNames": ["a", "c", "another"]}
    assert counts.mutations("DeleteTopics", delete, None, {}) == 5 + 6 + 1
    by_id = {"topics": [{"name": None, "topicId": "id-b"}]}
    assert counts.mutations("DeleteTopics", by_id, None, {"id-b": "b"}) == 2
    assert counts.mutations("Metadata", request, response, {}) == 0
