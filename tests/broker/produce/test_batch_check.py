"""Each rule about a batch, with the error that Kafka gives; the first one wins."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.topics import Topic
from broker.config.broker_config import BrokerConfig
from broker.config.topic_config import TopicConfig
from broker.produce.batch_check import check_batch, is_transactional, read_batch
from broker.produce.batch_refusal import BatchRefusal
from broker.produce.stored_batch import StoredBatch
from protocol import records
from protocol.errors import ErrorCode
from protocol.records import BatchHeader
from tests.batches import NOW_MS, altered, make_batch

HOUR_MS = 3_600_000
GOOD = make_batch(b"a", b"b", b"c")


def make_topic(**overrides: str) -> Topic:
    keys = {name.replace("_", "."): text for name, text in overrides.items()}
    config = BrokerConfig.from_overrides({"broker.api.versions": "4.4"})
    return Topic("t", UUID(int=1), [], TopicConfig(config, keys))


def check(
    batch: bytes, api_version: int = 9, topic: Topic | None = None, now_ms: int = NOW_MS
) -> BatchHeader | BatchRefusal:
    # Inside a larger buffer, as in a frame.
    buffer = b"head" + batch + b"tail"
    header = read_batch(buffer, 4, 4 + len(batch), api_version)
    if isinstance(header, BatchRefusal):
        return header
    covered = buffer[4 + records.CRC_START : 4 + records.LOG_OVERHEAD_BYTES + header.batch_length]
    found = check_batch(header, covered, topic or make_topic(), 0, now_ms)
    return found.header if isinstance(found, StoredBatch) else found or header


def test_check_batch_returns_the_header_of_a_valid_batch() -> None:
    header = check(GOOD)

    assert isinstance(header, BatchHeader)
    assert (header.records_count, header.producer_id) == (3, -1)
    assert header.max_timestamp == NOW_MS


def _short(size: int) -> bytes:
    """Return a batch whose length says that it has no whole header."""
    return altered(GOOD, 8, ">i", size - 12)[:size]


@pytest.mark.parametrize(
    ("batch", "error_code"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (GOOD[:60], ErrorCode.INVALID_RECORD),
        (GOOD[:-1], ErrorCode.INVALID_RECORD),
        (GOOD + GOOD, ErrorCode.INVALID_RECORD),
        (GOOD + altered(GOOD, 8, ">i", 3)[:12], ErrorCode.CORRUPT_MESSAGE),
        (altered(GOOD, 16, ">b", 3, fix_crc=False), ErrorCode.CORRUPT_MESSAGE),
        (_short(60), ErrorCode.CORRUPT_MESSAGE),
        (_short(50), ErrorCode.UNKNOWN_SERVER_ERROR),
        (altered(GOOD, 16, ">b", 1), ErrorCode.INVALID_RECORD),
        (altered(GOOD, 16, ">b", 0, fix_crc=False)[:26], ErrorCode.INVALID_RECORD),
        (GOOD[:16], ErrorCode.INVALID_RECORD),
        (altered(GOOD, 0, ">q", 7), ErrorCode.INVALID_RECORD),
        (altered(GOOD, 8, ">i", 3), ErrorCode.CORRUPT_MESSAGE),
        (altered(GOOD, 17, ">I", 1, fix_crc=False), ErrorCode.CORRUPT_MESSAGE),
        (altered(GOOD, len(GOOD) - 2, ">b", 9, fix_crc=False), ErrorCode.CORRUPT_MESSAGE),
        (altered(GOOD, 23, ">i", 1), ErrorCode.INVALID_RECORD),
        (altered(altered(GOOD, 57, ">i", 0), 23, ">i", -1), ErrorCode.INVALID_RECORD),
        (altered(GOOD, 21, ">h", records.CONTROL_FLAG), ErrorCode.INVALID_RECORD),
        (altered(GOOD, 21, ">h", 5), ErrorCode.UNKNOWN_SERVER_ERROR),
        (
            make_batch(b"a", producer_id=5, producer_epoch=0, base_sequence=-1),
            ErrorCode.INVALID_RECORD,
        ),
    ],
)
def test_an_invalid_batch_gets_kafkas_error(batch: bytes, error_code: ErrorCode) -> None:
    refusal = check(batch)

    assert isinstance(refusal, BatchRefusal)
    assert refusal.error_code == error_code


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (
            altered(GOOD, 8, ">i", 13),
            "Record size 13 is less than the minimum record overhead (14)",
        ),
        (altered(GOOD, 16, ">b", -3), "Invalid magic found in record: -3"),
        (_short(50), None),
    ],
)
def test_what_is_no_batch_fails_the_request(batch: bytes, message: str | None) -> None:
    refusal = check(batch)
    assert isinstance(refusal, BatchRefusal)
    assert (refusal.fails_request, refusal.error_message) == (True, message)


def test_an_incomplete_batch_behind_the_first_one_is_ignored() -> None:
    for tail in (b"\0" * 11, GOOD[:16], GOOD[:-1]):
        assert check(GOOD + tail) == check(GOOD)


def test_the_flags_of_a_refused_batch_are_read_if_it_is_complete() -> None:
    batch = make_batch(
        b"a", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    for buffer, expected in (
        (batch + batch, True),
        (GOOD + batch, False),
        (batch[:-1], False),
        (altered(batch, 16, ">b", 1), False),
        (altered(batch, 8, ">i", 1), False),
        (b"", False),
    ):
        assert is_transactional(buffer, 0, len(buffer)) is expected


def test_a_null_batch_is_an_invalid_record() -> None:
    refusal = read_batch(b"frame", -1, -1, 9)

    assert isinstance(refusal, BatchRefusal)
    assert refusal.error_code == ErrorCode.INVALID_RECORD


def test_zstd_needs_version_7() -> None:
    batch = make_batch(b"a" * 100, codec="zstd")

    old = check(batch, api_version=6)
    assert isinstance(old, BatchRefusal)
    assert old.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert isinstance(check(batch, api_version=7), BatchHeader)


def test_a_batch_of_max_message_bytes_is_accepted_and_one_byte_more_is_refused() -> None:
    assert isinstance(check(GOOD, topic=make_topic(max_message_bytes=str(len(GOOD)))), BatchHeader)

    refusal = check(GOOD, topic=make_topic(max_message_bytes=str(len(GOOD) - 1)))
    assert isinstance(refusal, BatchRefusal)
    assert refusal.error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_too_large_is_reported_before_a_wrong_crc() -> None:
    batch = altered(GOOD, 17, ">I", 1, fix_crc=False)
    refusal = check(batch, topic=make_topic(max_message_bytes="10"))

    assert isinstance(refusal, BatchRefusal)
    assert refusal.error_code == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_compacted_topic_refuses_records_without_a_key_and_names_them(codec: str) -> None:
    refusal = check(
        make_batch(b"a", b"b", key=None, codec=codec), topic=make_topic(cleanup_policy="compact")
    )

    assert isinstance(refusal, BatchRefusal)
    assert refusal.error_code == ErrorCode.INVALID_RECORD
    message = "Compacted topic cannot accept message without key in topic partition t-0"
    assert [tuple(error) for error in refusal.record_errors] == [(0, message), (1, message)]
    assert refusal.error_message == (
        "One or more records have been rejected due to 2 record errors in total, and only showing"
        f" the first three errors at most: [RecordError(batchIndex=0, message='{message}'),"
        f" RecordError(batchIndex=1, message='{message}')]"
    )


def test_errors_of_keys_and_timestamps_are_reported_together() -> None:
    batch = make_batch(b"a", b"b", key=None, timestamps=[NOW_MS, NOW_MS + 2 * HOUR_MS])
    early = make_batch(b"a", b"b", key=b"k", timestamps=[NOW_MS, NOW_MS + 2 * HOUR_MS])
    topic = make_topic(cleanup_policy="compact")

    keys, timestamps = check(batch, topic=topic), check(early, topic=topic)

    assert isinstance(keys, BatchRefusal)
    assert isinstance(timestamps, BatchRefusal)
    assert (keys.error_code, len(keys.record_errors)) == (ErrorCode.INVALID_RECORD, 2)
    assert (timestamps.error_code, len(timestamps.record_errors)) == (
        ErrorCode.INVALID_TIMESTAMP,
        1,
    )


def test_only_refused_records_are_explained() -> None:
    refusal = check(altered(GOOD, 21, ">h", records.CONTROL_FLAG))

    assert refusal == BatchRefusal(ErrorCode.INVALID_RECORD, has_log_start_offset=True)


def test_a_compacted_topic_accepts_tombstones_with_a_key() -> None:
    topic = make_topic(cleanup_policy="compact,delete")
    assert isinstance(check(make_batch(None, key=b"k"), topic=topic), BatchHeader)


def test_timestamps_more_than_an_hour_ahead_are_refused_one_by_one() -> None:
    batch = make_batch(
        b"a", b"b", b"c", timestamps=[NOW_MS, NOW_MS + HOUR_MS, NOW_MS + HOUR_MS + 1]
    )
    refusal = check(batch)

    assert isinstance(refusal, BatchRefusal)
    assert refusal.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in refusal.record_errors] == [2]
    assert isinstance(check(batch, now_ms=NOW_MS + 1), BatchHeader)


def test_a_topic_that_bounds_the_past_reads_every_record() -> None:
    topic = make_topic(message_timestamp_before_max_ms="1000")
    batch = make_batch(b"a", b"b", timestamps=[NOW_MS, NOW_MS - 1001])

    refusal = check(batch, topic=topic)
    assert isinstance(refusal, BatchRefusal)
    assert [error.batch_index for error in refusal.record_errors] == [1]
    assert isinstance(check(batch, topic=topic, now_ms=NOW_MS - 1), BatchHeader)


def test_a_log_append_time_topic_accepts_any_timestamp() -> None:
    topic = make_topic(
        message_timestamp_type="LogAppendTime", message_timestamp_before_max_ms="1000"
    )
    assert isinstance(check(make_batch(b"a", timestamps=[1]), topic=topic), BatchHeader)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize(("size", "body_bytes"), [(100, 108), (2_000_000, 2_000_010)])
def test_a_compressed_record_above_its_limit_is_an_invalid_record(
    codec: str, size: int, body_bytes: int
) -> None:
    batch = make_batch(b"small", b"v" * size, codec=codec)
    expected = BatchRefusal(ErrorCode.INVALID_RECORD, has_log_start_offset=True)
    for limit in (body_bytes - 1, 50):
        topic = make_topic(max_decompressed_message_bytes=str(limit), max_message_bytes="200000")
        assert check(batch, topic=topic) == expected
    roomy = make_topic(max_decompressed_message_bytes=str(body_bytes), max_message_bytes="200000")
    assert isinstance(check(batch, topic=roomy), BatchHeader)


def test_a_record_is_refused_before_it_is_decompressed() -> None:
    batch = make_batch(b"v" * 9_000_000, codec="gzip")
    limits = {"max_decompressed_message_bytes": "1000000", "max_message_bytes": "100000"}
    refusal = check(batch, topic=make_topic(**limits))
    assert isinstance(refusal, BatchRefusal)
    assert refusal.error_code is ErrorCode.INVALID_RECORD  # not MESSAGE_TOO_LARGE


def test_records_without_compression_have_no_limit_of_their_own() -> None:
    topic = make_topic(max_decompressed_message_bytes="1")
    assert isinstance(check(make_batch(b"v" * 100), topic=topic), BatchHeader)
    assert isinstance(check(make_batch(b"v" * 100, codec="gzip"), topic=topic), BatchRefusal)


@given(st.data())
def test_any_damage_is_refused_or_outside_the_crc(data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(GOOD) - 1))
    damaged = bytearray(GOOD)
    damaged[position] ^= data.draw(st.integers(1, 255))

    result = check(bytes(damaged))

    # Only the partition leader epoch is neither checked nor covered by the CRC.
    assert isinstance(result, BatchHeader) == (12 <= position < 16)
