"""The encoded topics of a Fetch response are those of the schema's codec."""

from typing import Any
from uuid import UUID

import pytest

from broker.cluster.fetch_sessions import CachedPartition, FetchPartitionData
from broker.cluster.transaction_index import AbortedTransaction
from broker.fetch.short_response import encode_only, encode_sent
from broker.responses import PARTS_BYTES_MIN
from protocol import fetch, messages
from protocol.codec import encode_message
from protocol.errors import ErrorCode
from protocol.short_fields import COUNT_MAX

_TopicResponse = messages.FetchResponse.FetchableTopicResponse
_PartitionData = _TopicResponse.PartitionData
IDS = {"a": UUID(int=1), "b": UUID(int=2)}


def cached(name: str, version: int, index: int) -> CachedPartition:
    topic_id = IDS[name] if version >= fetch.TOPIC_ID_VERSION_MIN else None
    return CachedPartition(name, topic_id, index, 0, 100)


@pytest.mark.parametrize("version", range(4, 19))
def test_partitions_of_one_topic_in_a_row_share_an_entry(version: int) -> None:
    transaction = AbortedTransaction(
        producer_id=7, first_offset=3, last_offset=4, last_stable_offset=5
    )
    sent = [
        (
            cached("a", version, 0),
            FetchPartitionData(ErrorCode.NONE, 9, 8, 7, [b"bat", b"ch"], record_bytes=5),
        ),
        (cached("a", version, 1), FetchPartitionData(ErrorCode.OFFSET_OUT_OF_RANGE)),
        (
            cached("b", version, 0),
            FetchPartitionData(aborted_transactions=[transaction], preferred_read_replica=3),
        ),
        (cached("a", version, 2), FetchPartitionData(aborted_transactions=())),
    ]

    encoded = encode_sent(version, sent)

    assert encoded is not None
    topics, record_bytes = encoded
    assert record_bytes == len(b"batch")
    response: Any = messages.FetchResponse(version=version, session_id=5, responses=[])
    for names, part in (("a", sent[:2]), ("b", sent[2:3]), ("a", sent[3:])):
        entries = []
        for partition, data in part:
            aborted = data.aborted_transactions
            entries.append(
                _PartitionData(
                    version=version,
                    partition_index=partition.partition_index,
                    error_code=data.error_code,
                    high_watermark=data.high_watermark,
                    last_stable_offset=data.last_stable_offset,
                    log_start_offset=data.log_start_offset,
                    aborted_transactions=None
                    if aborted is None
                    else [
                        _PartitionData.AbortedTransaction(
                            version=version,
                            producer_id=entry.producer_id,
                            first_offset=entry.first_offset,
                        )
                        for entry in aborted
                    ],
                    preferred_read_replica=data.preferred_read_replica,
                    records=data.records,
                )
            )
        response.responses.append(
            _TopicResponse(version=version, topic=names, topic_id=IDS[names], partitions=entries)
        )
    body = fetch.encode_response(version, 0, 5, b"".join(topics))
    assert body == encode_message(response, version)


@pytest.mark.parametrize("version", range(4, 19))
@pytest.mark.parametrize("batches", [[b"batch"], [b"bat", b"ch"], [b"b" * 300]])
@pytest.mark.parametrize("reads_committed", [False, True])
def test_a_partition_alone_is_encoded_as_among_others(
    version: int, batches: list[bytes], reads_committed: bool
) -> None:
    partition = cached("a", version, 2)
    data = FetchPartitionData(
        *(ErrorCode.NONE, 9, 8, 7, batches),
        aborted_transactions=() if reads_committed else None,
        record_bytes=len(b"".join(batches)),
    )

    body = encode_only(version, 5, partition, data)

    encoded = encode_sent(version, [(partition, data)])
    assert encoded is not None
    expected = fetch.encode_response(version, 0, 5, b"".join(encoded[0]))
    assert body == (expected if version >= fetch.SESSION_VERSION_MIN else None)


def test_a_partition_without_records_or_with_rare_fields_is_not_encoded_alone() -> None:
    partition = cached("a", 12, 0)
    long = b"b" * PARTS_BYTES_MIN
    assert encode_only(12, 5, partition, FetchPartitionData()) is None
    assert encode_only(12, 5, partition, FetchPartitionData(ErrorCode.OFFSET_OUT_OF_RANGE)) is None
    many = FetchPartitionData(batches=[long], record_bytes=len(long))
    assert encode_only(12, 5, partition, many) is None
    aborted = AbortedTransaction(producer_id=7, first_offset=3, last_offset=4, last_stable_offset=5)
    rare = FetchPartitionData(batches=[b"b"], aborted_transactions=(aborted,), record_bytes=1)
    assert encode_only(12, 5, partition, rare) is None
    unnamed = CachedPartition("t" * (COUNT_MAX + 1), None, 0, 0, 100)
    assert encode_only(12, 5, unnamed, FetchPartitionData(batches=[b"b"], record_bytes=1)) is None


def test_what_has_tagged_fields_or_is_long_is_left_to_the_schema() -> None:
    diverging = FetchPartitionData(diverging_epoch=(1, 2))
    assert encode_sent(12, [(cached("a", 12, 0), diverging)]) is None
    transaction = AbortedTransaction(
        producer_id=7, first_offset=3, last_offset=4, last_stable_offset=5
    )
    many = FetchPartitionData(aborted_transactions=[transaction] * (COUNT_MAX + 1))
    assert encode_sent(12, [(cached("a", 12, 0), many)]) is None
    long = CachedPartition("t" * (COUNT_MAX + 1), None, 0, 0, 100)
    assert encode_sent(12, [(long, FetchPartitionData())]) is None
