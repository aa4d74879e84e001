"""The records of a batch are checked as Kafka does it, and stored in the form that it stores."""

import gzip
from uuid import UUID

import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.topics import Topic
from broker.config.broker_config import BrokerConfig
from broker.config.topic_config import TopicConfig
from broker.produce import record_check
from broker.produce.batch_check import check_batch
from broker.produce.batch_refusal import FAILED_IN_LOG, INVALID_IN_LOG, TOO_LARGE, BatchRefusal
from broker.produce.record_check import DECOMPRESSION_FACTOR, DECOMPRESSION_RATIO_MAX
from broker.produce.stored_batch import StoredBatch
from protocol import records
from protocol.compression import compress
from protocol.errors import ErrorCode
from protocol.records import (
    COMPRESSION_MASK,
    CRC_START,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    has_valid_crc,
    read_header,
    read_records,
)
from tests.batches import CODECS, NOW_MS, altered, make_batch
from tests.protocol.counting_turn import pauses_of

COMPRESSED = ["gzip", "snappy", "lz4", "zstd"]
HOUR_MS = 3_600_000


def make_topic(**overrides: str) -> Topic:
    keys = {name.replace("_", "."): text for name, text in overrides.items()}
    config = BrokerConfig.from_overrides({"broker.api.versions": "4.4"})
    return Topic("t", UUID(int=1), [], TopicConfig(config, keys))


def check(
    batch: bytes, now_ms: int = NOW_MS, /, **overrides: str
) -> BatchRefusal | StoredBatch | None:
    header = read_header(batch, 0)
    return check_batch(header, batch[CRC_START:], make_topic(**overrides), 0, now_ms)


def batch_of(payload: bytes, count: int, codec: int = 0, attributes: int = 0) -> bytes:
    """Return a batch with these bytes as its records; they are compressed already."""
    head = make_batch(*(b"v",) * count)[:HEADER_BYTES]
    batch = altered(head + payload, 21, ">h", codec | attributes)
    return altered(batch, 8, ">i", len(batch) - 12)


def payload_of(*values: bytes | None, timestamps: list[int] | None = None) -> bytes:
    return make_batch(*values, timestamps=timestamps)[HEADER_BYTES:]


PLAIN = payload_of(b"a" * 30, b"b" * 30)


@pytest.mark.parametrize("codec", range(5))
def test_batches_are_stored_as_they_are_if_nothing_is_wrong(codec: int) -> None:
    assert check(batch_of(compress(PLAIN, codec), 2, codec)) is None


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize(
    ("payload", "count"),
    [
        (PLAIN, 3),
        (PLAIN, 1),
        (PLAIN + b"\0", 2),
        (PLAIN[:-1], 2),
        (b"\xff" * 12, 2),
        (b"\1" + PLAIN[1:], 2),
    ],
)
def test_records_that_do_not_match_their_batch_are_invalid(
    payload: bytes, count: int, codec: int
) -> None:
    topic = {"message_timestamp_before_max_ms": str(HOUR_MS)}  # looks at single records, too
    batch = batch_of(compress(payload, codec), count, codec)
    assert check(batch, **topic) == INVALID_IN_LOG


def test_only_the_size_of_a_record_that_stays_compressed_is_not_compared() -> None:
    wrong = bytes((PLAIN[0] + 2,)) + PLAIN[1:]
    assert check(batch_of(wrong, 2)) == INVALID_IN_LOG
    compressed = batch_of(compress(wrong, 1), 2, 1)
    assert check(compressed) is None
    assert check(compressed, compression_type="zstd") == INVALID_IN_LOG


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_payload_of_another_format_is_an_unknown_error(codec: int) -> None:
    assert check(batch_of(b"\x99" + PLAIN, 2, codec)) == FAILED_IN_LOG
    compressed = compress(PLAIN, codec)
    assert check(batch_of(compressed[: len(compressed) // 2], 2, codec)) == FAILED_IN_LOG


def test_a_wrong_checksum_comes_behind_wrong_records() -> None:
    damaged = gzip.compress(PLAIN)[:-8] + bytes(8)
    assert check(batch_of(damaged, 2, 1)) == FAILED_IN_LOG
    assert check(batch_of(damaged, 1, 1)) == INVALID_IN_LOG


def test_kafka_reads_no_linked_blocks_of_lz4() -> None:
    linked = lz4.frame.compress(payload_of(bytes(100_000)), block_linked=True)
    assert check(batch_of(linked, 1, 3)) == FAILED_IN_LOG


def test_offsets_must_be_consecutive_where_records_stay_compressed() -> None:
    repeated = payload_of(b"a") * 2
    assert check(batch_of(repeated, 2)) is None
    assert check(batch_of(compress(repeated, 1), 2, 1)) == FAILED_IN_LOG
    stored = check(batch_of(repeated, 2), compression_type="gzip")
    assert isinstance(stored, StoredBatch)
    assert [record.offset for record in read_records(stored.data())] == [0, 1]


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_batch_that_is_much_larger_after_decompression_is_too_large(
    codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_check, "DECOMPRESSION_RATIO_MAX", 1)
    limit = 100_000 * DECOMPRESSION_FACTOR
    assert check(make_batch(bytes(limit - 100), codec=codec), max_message_bytes="100000") is None

    refusal = check(make_batch(bytes(limit), codec=codec), max_message_bytes="100000")
    message = f"more than {limit} bytes after decompression"
    assert refusal == BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE, message)


@pytest.mark.parametrize("codec", ["lz4", "snappy"])
def test_codecs_that_compress_little_have_no_limit_after_decompression(codec: str) -> None:
    batch = make_batch(bytes(3_000_000), codec=codec)
    assert len(batch) * DECOMPRESSION_RATIO_MAX > 3_000_000
    assert check(batch, max_message_bytes=str(len(batch))) is None


@pytest.mark.parametrize("codec", ["none", *COMPRESSED])
def test_the_time_of_an_early_or_late_record_is_refused_also_if_the_header_hides_it(
    codec: str,
) -> None:
    batch = make_batch(b"a" * 50, b"b" * 50, timestamps=[NOW_MS, NOW_MS + HOUR_MS + 1], codec=codec)
    hidden = altered(batch, 35, ">q", NOW_MS)
    for sent in (batch, hidden):
        refusal = check(sent)
        assert isinstance(refusal, BatchRefusal)
        assert refusal.error_code is ErrorCode.INVALID_TIMESTAMP
        assert [error.batch_index for error in refusal.record_errors] == [1]
        assert refusal.record_errors[0].message == (
            f"Timestamp {NOW_MS + HOUR_MS + 1} of message with offset 1 is out of range. The"
            f" timestamp should be within [{NOW_MS - 2**63 + 1}, {NOW_MS + HOUR_MS}]"
        )
    assert check(batch, NOW_MS + 1) is None


@pytest.mark.parametrize("codec", ["none", *COMPRESSED])
@pytest.mark.parametrize("claimed", [0, -1, NOW_MS - 5, NOW_MS + 1])
def test_the_largest_timestamp_is_that_of_the_records(codec: str, claimed: int) -> None:
    timestamps = [NOW_MS - 1, NOW_MS, NOW_MS - 7]
    batch = make_batch(*(b"a" * 50,) * 3, timestamps=timestamps, codec=codec)
    stored = check(altered(batch, 35, ">q", claimed))

    assert isinstance(stored, StoredBatch)
    assert stored.data() == batch


def test_negative_timestamps_count_as_none() -> None:
    batch = make_batch(b"a" * 50, b"b" * 50, timestamps=[-7, -9], codec="gzip")
    stored = check(batch)
    assert isinstance(stored, StoredBatch)
    assert stored.header.max_timestamp == -1
    assert check(batch, compression_type="lz4") == FAILED_IN_LOG
    overflow = altered(make_batch(b"a", b"b"), 27, ">q", 2**63 - 1)
    assert check(altered(overflow, 35, ">q", 0), message_timestamp_after_max_ms=str(2**63 - 1))


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_batch_that_claims_log_append_time_becomes_one_of_create_time(codec: str) -> None:
    batch = make_batch(b"a" * 40, b"b" * 40, codec=codec)
    claimed = altered(batch, 21, ">h", CODECS[codec] | LOG_APPEND_TIME_FLAG)
    stored = check(altered(claimed, 35, ">q", NOW_MS - 5))
    assert isinstance(stored, StoredBatch)
    assert stored.header.attributes == CODECS[codec]
    assert stored.header.max_timestamp == NOW_MS - 5
    assert stored.data()[HEADER_BYTES:] == batch[HEADER_BYTES:]


@pytest.mark.parametrize(
    ("codec", "overrides", "kind"),
    [
        ("none", {}, "DefaultRecord(offset=1, timestamp=-1, key=0 bytes, value=45 bytes)"),
        ("gzip", {}, "PartialDefaultRecord(offset=1, timestamp=-1, key=-1 bytes, value=45 bytes)"),
        (
            "gzip",
            {"compression_type": "snappy"},
            "DefaultRecord(offset=1, timestamp=-1, key=0 bytes, value=45 bytes)",
        ),
    ],
)
def test_log_append_time_must_not_be_claimed_where_the_broker_sets_it(
    codec: str, overrides: dict[str, str], kind: str
) -> None:
    batch = make_batch(b"a" * 44, b"b" * 45, key=None, codec=codec)
    claimed = altered(batch, 21, ">h", CODECS[codec] | LOG_APPEND_TIME_FLAG)
    sent = altered(claimed, 35, ">q", -1)
    for timestamp_type in ("CreateTime", "LogAppendTime"):
        refusal = check(sent, message_timestamp_type=timestamp_type, **overrides)
        assert isinstance(refusal, BatchRefusal)
        assert refusal.error_code is ErrorCode.INVALID_TIMESTAMP
        assert refusal.record_errors[1].message == (
            f"Invalid timestamp type in message {kind}. Producer should not set timestamp type"
            " to LogAppendTime."
        )


# compression.type -------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["none", *COMPRESSED])
@pytest.mark.parametrize("target", ["uncompressed", *COMPRESSED])
def test_batches_are_stored_with_the_compression_of_their_topic(source: str, target: str) -> None:
    batch = make_batch(
        *(b"a" * 50, None, b"c" * 90),
        timestamps=[NOW_MS - 3, NOW_MS, NOW_MS - 9],
        codec=source,
        producer_id=5,
        producer_epoch=1,
        base_sequence=7,
        is_transactional=True,
    )
    stored = check(batch, compression_type=target)

    if source == target or (source, target) == ("none", "uncompressed"):
        assert stored is None
        return
    assert isinstance(stored, StoredBatch)
    data, sent = stored.data(), read_header(batch, 0)
    header = read_header(data, 0)
    assert header == stored.header
    assert has_valid_crc(data, 0, len(data), header.crc)
    codec = 0 if target == "uncompressed" else CODECS[target]
    assert header.attributes == codec | records.TRANSACTIONAL_FLAG
    same = sent._replace(attributes=0, crc=0, batch_length=0)
    assert header._replace(attributes=0, crc=0, batch_length=0) == same
    assert list(read_records(data)) == list(read_records(batch))
    assert check(batch, compression_type="producer") is None


def test_the_level_of_the_topic_is_used() -> None:
    batch = make_batch(*(b"record %d of many" % number for number in range(2000)))
    sizes = {}
    for key, level in (("gzip", "1"), ("gzip", "9"), ("zstd", "1"), ("zstd", "19")):
        stored = check(batch, **{"compression_type": key, f"compression_{key}_level": level})
        assert isinstance(stored, StoredBatch)
        sizes[key, level] = stored.size_bytes
    assert sizes["gzip", "9"] < sizes["gzip", "1"]
    assert sizes["zstd", "19"] < sizes["zstd", "1"]


def test_the_size_is_checked_before_and_after_the_compression() -> None:
    batch = make_batch(bytes(5000), codec="gzip")
    assert check(batch, compression_type="uncompressed", max_message_bytes="4000") == TOO_LARGE
    assert check(batch, compression_type="uncompressed", max_message_bytes="6000") is not None
    large = make_batch(bytes(5000))
    assert check(large, compression_type="gzip", max_message_bytes="4000") == TOO_LARGE
    one_byte = make_batch(b"a")
    limit = str(len(one_byte))
    assert check(one_byte, max_message_bytes=limit) is None
    assert check(one_byte, compression_type="snappy", max_message_bytes=limit) == TOO_LARGE


def test_a_batch_is_compressed_again_only_up_to_a_limit_of_memory() -> None:
    limit = 20_000 * DECOMPRESSION_FACTOR
    options = {"compression_type": "zstd", "max_message_bytes": "20000"}
    assert isinstance(check(make_batch(bytes(limit - 100), codec="gzip"), **options), StoredBatch)
    refusal = check(make_batch(bytes(limit), codec="gzip"), **options)
    assert isinstance(refusal, BatchRefusal)
    assert refusal.error_code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("source", ["none", "gzip"])
def test_records_relative_to_another_time_are_written_again(source: str) -> None:
    payload = payload_of(b"a" * 40, b"b" * 40, timestamps=[NOW_MS - 100, NOW_MS])
    # Relative to 40 ms later than the first record.
    shifted = altered(
        batch_of(compress(payload, CODECS[source]), 2, CODECS[source]), 27, ">q", NOW_MS - 60
    )
    stored = check(altered(shifted, 35, ">q", NOW_MS + 40), compression_type="lz4")
    assert isinstance(stored, StoredBatch)
    assert stored.header.base_timestamp == NOW_MS - 60
    late = payload_of(b"x", b"a" * 40, b"b" * 40, timestamps=[NOW_MS, NOW_MS - 100, NOW_MS - 90])
    behind_first = late[len(payload_of(b"x")) :]
    stored = check(
        batch_of(compress(behind_first, CODECS[source]), 2, CODECS[source]), compression_type="lz4"
    )
    assert isinstance(stored, StoredBatch)
    assert (stored.header.base_timestamp, stored.header.max_timestamp) == (
        NOW_MS - 100,
        NOW_MS - 90,
    )
    found = list(read_records(stored.data()))
    assert [(record.offset, record.timestamp) for record in found] == [
        (0, NOW_MS - 100),
        (1, NOW_MS - 90),
    ]


def test_kafka_cannot_write_some_producers_again() -> None:
    for producer in (
        {"producer_id": -1, "is_transactional": True},
        {"producer_id": 4, "producer_epoch": -1, "base_sequence": 0},
    ):
        batch = make_batch(b"a", **producer)  # type: ignore[arg-type]
        assert check(batch) is None
        assert check(batch, compression_type="gzip") == FAILED_IN_LOG


# Time and memory --------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_check_of_much_pauses_often(codec: str) -> None:
    many = make_batch(*(b"v",) * 50_000, codec=codec)
    assert pauses_of(lambda: check(many)) >= 25
    large = make_batch(bytes(6_000_000), codec=codec)
    assert pauses_of(lambda: check(large)) >= 80


@given(st.data())
def test_any_damage_behind_the_header_is_a_refusal_or_sound(data: st.DataObject) -> None:
    codec = data.draw(st.integers(0, 4))
    payload = bytearray(compress(payload_of(b"abc", None, b"x" * 100), codec))
    payload[data.draw(st.integers(0, len(payload) - 1))] ^= data.draw(st.integers(1, 255))
    found = check(batch_of(bytes(payload), 3, codec))
    if isinstance(found, BatchRefusal):
        assert found in (INVALID_IN_LOG, FAILED_IN_LOG) or found.record_errors
    elif found is not None:
        assert found.header.attributes & COMPRESSION_MASK == codec
