"""The codec of AddPartitionsToTxn agrees with the schema's codec."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages
from protocol.add_partitions_to_txn import encode_response, read_add_partitions
from protocol.api_keys import ApiKey
from protocol.codec import encode_message
from protocol.short_fields import COUNT_MAX
from tests.protocol.short_requests import check_arbitrary_bytes, read_both

VERSIONS = st.integers(0, 3)
TEXTS = st.text(max_size=30)
INDEXES = st.integers(-1, 2**31 - 1)
INT64, INT16 = st.integers(-(2**63), 2**63 - 1), st.integers(-(2**15), 2**15 - 1)


def request_of(
    version: int,
    transactional_id: str,
    topics: list[tuple[str, list[int]]],
    producer_id: int = 1,
    producer_epoch: int = 2,
) -> Any:
    request_class = messages.AddPartitionsToTxnRequest
    topic_class = request_class.AddPartitionsToTxnTopic
    return request_class(
        version=version,
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=producer_epoch,
        v3_and_below_topics=[
            topic_class(version=version, name=name, partitions=indexes) for name, indexes in topics
        ],
    )


@given(
    VERSIONS,
    TEXTS,
    st.lists(st.tuples(TEXTS, st.lists(INDEXES, max_size=9)), max_size=9),
    INT64,
    INT16,
    st.binary(max_size=9),
)
def test_a_request_is_read(
    version: int,
    transactional_id: str,
    topics: list[tuple[str, list[int]]],
    producer_id: int,
    producer_epoch: int,
    before: bytes,
) -> None:
    request = request_of(version, transactional_id, topics, producer_id, producer_epoch)

    found, decoded = read_both(read_add_partitions, request, version, before)

    decoded_topics = decoded.v3_and_below_topics
    assert found[:3] == (transactional_id, producer_id, producer_epoch)
    assert found.v3_and_below_topics == topics
    assert [(topic.name, list(topic.partitions)) for topic in decoded_topics] == topics


@pytest.mark.parametrize("version", range(4))
def test_a_request_that_is_cut_long_or_has_nulls_or_tags_is_left_to_the_schema(
    version: int,
) -> None:
    body = encode_message(request_of(version, "tx", [("t", [0, 1])]), version)
    for end in range(len(body)):
        assert read_add_partitions(version, body, 0, end) is None
    assert read_add_partitions(version, body + b"\0", 0, len(body) + 1) is None
    null, id_bytes = (b"\0", 3) if version == 3 else (b"\xff\xff", 4)
    null_id = null + body[id_bytes:]
    assert read_add_partitions(version, null_id, 0, len(null_id)) is None
    if version == 3:
        for tagged in (body[:-1] + b"\1\0\0", body[:-2] + b"\1\0\0\0"):
            assert read_add_partitions(version, tagged, 0, len(tagged)) is None
    many = [0] * (COUNT_MAX // 2 + 1)
    long = encode_message(request_of(version, "tx", [("t", many), ("u", many)]), version)
    assert read_add_partitions(version, long, 0, len(long)) is None
    assert read_add_partitions(4, body, 0, len(body)) is None


@given(VERSIONS, st.binary(max_size=60))
def test_arbitrary_bytes_are_read_as_by_the_schema_or_not_at_all(version: int, body: bytes) -> None:
    found = read_add_partitions(version, body, 0, len(body))
    if found is None or not found.v3_and_below_topics:
        check_arbitrary_bytes(read_add_partitions, ApiKey.ADD_PARTITIONS_TO_TXN, version, body)


@given(VERSIONS, st.lists(st.tuples(TEXTS, st.lists(st.tuples(INDEXES, INT16))), max_size=5))
def test_the_response_is_that_of_the_schema(
    version: int, topics: list[tuple[str, list[tuple[int, int]]]]
) -> None:
    response_class = messages.AddPartitionsToTxnResponse
    topic_class = response_class.AddPartitionsToTxnTopicResult
    response = response_class(
        version=version,
        results_by_topic_v3_and_below=[
            topic_class(
                version=version,
                name=name,
                results_by_partition=[
                    topic_class.AddPartitionsToTxnPartitionResult(
                        version=version, partition_index=index, partition_error_code=error_code
                    )
                    for index, error_code in results
                ],
            )
            for name, results in topics
        ],
    )
    encoded = encode_response(version, topics)
    if encoded is None:
        assert max(len(name.encode()) for name, _ in topics) > COUNT_MAX or (
            sum(len(results) for _, results in topics) > COUNT_MAX
        )
    else:
        assert encoded == encode_message(response, version)
