"""The hand-written encoder of Produce responses agrees with kafka-python's schemas."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages, produce

VERSIONS = range(3, 14)

topic_names = st.text(min_size=1, max_size=200)
results = st.builds(
    produce.PartitionResult,
    partition_index=st.integers(0, 2**31 - 1),
    error_code=st.just(0) | st.integers(-1, 120),
    base_offset=st.integers(-1, 2**62),
    log_append_time_ms=st.integers(-1, 2**62),
    log_start_offset=st.integers(-1, 2**62),
    error_message=st.none() | st.text(max_size=20),
    record_errors=st.lists(
        st.builds(produce.RecordError, st.integers(0, 99), st.none() | st.text(max_size=9)),
        max_size=2,
    ).map(tuple),
    current_leader=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
).map(
    # Details are for errors only: success has nothing to explain.
    lambda result: (
        result
        if result.error_code
        else result._replace(error_message=None, record_errors=(), current_leader=None)
    )
)

many_results = st.lists(results, min_size=1, max_size=3).map(lambda found: found * 130)
"""So many that their count takes two bytes; to draw each of them takes long."""


@given(
    st.sampled_from(VERSIONS),
    st.lists(
        st.builds(produce.TopicResult, topic_names, st.uuids(), st.lists(results, max_size=3))
    ),
    st.integers(0, 2**31 - 1),
)
def test_encoded_responses_are_decoded_equally_by_the_schema(
    version: int, topics: list[produce.TopicResult], throttle_time_ms: int
) -> None:
    body = produce.encode_response(version, topics, throttle_time_ms)

    response: Any = messages.ProduceResponse.decode(bytes(body), version=version)

    assert response.throttle_time_ms == throttle_time_ms
    for sent, read in zip(topics, response.responses, strict=True):
        assert (read.topic_id == sent.topic_id) if version >= 13 else (read.name == sent.name)
        for result, partition in zip(sent.partitions, read.partition_responses, strict=True):
            assert partition.index == result.partition_index
            assert partition.error_code == result.error_code
            assert partition.base_offset == result.base_offset
            assert partition.log_append_time_ms == result.log_append_time_ms
            if version >= 5:
                assert partition.log_start_offset == result.log_start_offset
            if version >= 8:
                assert partition.error_message == result.error_message
                assert len(partition.record_errors) == len(result.record_errors)
            if version >= 10 and result.current_leader is not None:
                leader = partition.current_leader
                assert (leader.leader_id, leader.leader_epoch) == result.current_leader


@pytest.mark.parametrize("version", [10, 13])
def test_node_endpoints_are_a_tagged_field(version: int) -> None:
    endpoint = produce.NodeEndpoint(2, "localhost", 9094, None)
    body = produce.encode_response(
        version, [produce.TopicResult("t", UUID(int=1), [])], node_endpoints=[endpoint]
    )

    response: Any = messages.ProduceResponse.decode(bytes(body), version=version)

    assert [(node.node_id, node.host, node.port) for node in response.node_endpoints] == [
        (2, "localhost", 9094)
    ]


@given(st.lists(results, max_size=12))
def test_results_are_in_the_order_of_the_request(found: list[produce.PartitionResult]) -> None:
    appended: produce.AppendedFields = []
    refusals: produce.Refusals = []
    for result in found:
        if result.error_code:
            refusals.append((len(appended), result))
        else:
            appended += (result.partition_index, *result[2:5], produce.NO_RECORD_ERRORS)

    assert produce.partition_results(appended, refusals) == found


@given(
    st.sampled_from(range(9, 14)),
    st.lists(
        st.tuples(topic_names, st.uuids(), st.lists(results) | many_results),
        max_size=3,
    ),
    st.integers(0, 99),
)
def test_results_without_errors_are_encoded_together(
    version: int, topics: list[tuple[str, UUID, list[produce.PartitionResult]]], throttle: int
) -> None:
    stored: list[tuple[str, UUID | None, produce.AppendedFields]] = []
    named: list[produce.TopicResult] = []
    for name, topic_id, found in topics:
        appended: produce.AppendedFields = []
        for result in found:
            appended += (result.partition_index, *result[2:5], produce.NO_RECORD_ERRORS)
        stored.append((name, topic_id, appended))
        fields: Any = produce.partition_results(appended, [])
        named.append(produce.TopicResult(name, topic_id, fields))

    body = produce.encode_appended(version, stored, throttle)

    assert body == produce.encode_response(version, named, throttle)
