"""Produce requests as bytes: encode one request and patch it for each further one.

Requests differ in correlation id, producer id, epoch, sequence, event id and CRC. The event id is
the first eight bytes of the first record's value; it identifies the batch when the topic is read
back. The fields of a successful response are read at fixed positions; a response of another length
is decoded in the usual way.
"""

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.checksum import crc32c
from protocol.codec import DecodeError, read_unsigned_varint, skip_tagged_fields
from protocol.compression import decompress
from protocol.produce import FLEXIBLE_VERSION_MIN, PartitionResult, TopicResult, encode_response
from protocol.records import COMPRESSION_MASK, HEADER_BYTES, LOG_OVERHEAD_BYTES, MAGIC

VERSION_MIN, VERSION_MAX = 3, 12
"""Version 13 needs topic ids, which would cost a request."""

_SIZE = Struct(">i")
_HEADER = Struct(">hhih")
_BATCH_HEADER = Struct(">qiibIhiqqqhii")
CORRELATION = Struct(">i")
CORRELATION_POSITION = 8
_CRC_POSITION = 17
_CRC_START = 21
_PRODUCER = Struct(">qhi")
_PRODUCER_POSITION = 43
EVENT = Struct(">q")
_ATTRIBUTES = Struct(">h")
_FIRST_RECORD_BYTES = 128
"""More than what comes before the event id in a record with a key of this load."""
DECOMPRESSED_BYTES_MAX = 100_000_000
_SEQUENCE_MASK = 0x7FFFFFFF


class ProduceResponse(NamedTuple):
    """The result of the one partition of a request."""

    error_code: int
    base_offset: int
    throttle_time_ms: int


def next_sequence(sequence: int, records: int) -> int:
    """Return the sequence after a batch; 0 follows 2147483647."""
    return (sequence + records) & _SEQUENCE_MASK


def request_frame(
    batch: bytes,
    *,
    version: int,
    client_id: str,
    topic: str,
    partition: int,
    acks: int,
    timeout_ms: int,
) -> bytearray:
    """Return the frame of a request with one batch, and with the correlation id 0."""
    request = messages.ProduceRequest(
        version=version,
        transactional_id=None,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            messages.ProduceRequest.TopicProduceData(
                name=topic,
                partition_data=[
                    messages.ProduceRequest.TopicProduceData.PartitionProduceData(
                        index=partition, records=batch
                    )
                ],
            )
        ],
    )
    name = client_id.encode()
    tags = b"\x00" if version >= FLEXIBLE_VERSION_MIN else b""
    rest = name + tags + bytes(request.encode(version=version))
    header = _HEADER.pack(ApiKey.PRODUCE, version, 0, len(name))
    return bytearray(_SIZE.pack(len(header) + len(rest)) + header + rest)


class ProduceResponses:
    """Reads the responses to requests with one batch."""

    def __init__(self, version: int, topic: str, partition: int) -> None:
        self.version = version
        self._response = messages.response_class(ApiKey.PRODUCE)
        self._response_layout, self._response_bytes = _response_layout(version, topic, partition)
        self.framed_response_bytes = _SIZE.size + self._response_bytes
        """The bytes of a successful response with its size."""
        self._run_layouts: dict[int, Struct] = {}
        """The layout of so many successful responses after each other, each with its size."""

    def read(self, buffer: bytes, start: int, end: int) -> tuple[int, int, int, int]:
        """Return correlation id, error code, base offset and throttle time of a response.

        Raises:
            DecodeError: it is not a response to such a request.
        """
        if end - start == self._response_bytes:
            return self._response_layout.unpack_from(buffer, start)
        return self._read_slowly(buffer, start, end)

    def read_run(
        self, buffer: bytes, start: int, count: int, correlation_id: int
    ) -> tuple[int, ...] | None:
        """Return the base offsets of `count` responses after each other, each with its size.

        Returns:
            None unless all of them are successful, without a throttle, and their correlation ids
            are `correlation_id` and those that follow it.
        """
        layout = self._run_layouts.get(count)
        if layout is None:
            layout = self._run_layouts[count] = _run_layout(
                self._response_layout.format, self._response_bytes, count
            )
        fields = layout.unpack_from(buffer, start)
        # Size and correlation id are read as one number, which grows by one with each response.
        first = self._response_bytes << 32 | correlation_id
        # Every second field is an error code or a throttle time.
        if any(fields[1::2]) or fields[::4] != tuple(range(first, first + count)):
            return None
        return fields[2::4]

    def _read_slowly(self, buffer: bytes, start: int, end: int) -> tuple[int, int, int, int]:
        try:
            (correlation_id,) = CORRELATION.unpack_from(buffer, start)
            position = start + 4
            if self.version >= FLEXIBLE_VERSION_MIN:
                position = skip_tagged_fields(buffer, position, end)
            response = self._response.decode(buffer[position:end], version=self.version)
            [topic] = response.responses
            [partition] = topic.partition_responses
        except Exception as error:  # the generated decoders raise many types
            raise DecodeError(f"not a Produce response: {error!r}") from error
        return (
            correlation_id,
            partition.error_code,
            partition.base_offset,
            response.throttle_time_ms,
        )


class ProduceFrames(ProduceResponses):
    """Encodes the requests of one connection to one partition, and reads their responses."""

    def __init__(
        self,
        *,
        version: int,
        client_id: str,
        topic: str,
        partition: int,
        records: int,
        record_bytes: int,
        timestamp_ms: int,
        acks: int = -1,
        timeout_ms: int = 30_000,
    ) -> None:
        """Encode the first request; `version` is from VERSION_MIN to VERSION_MAX."""
        batch, event_position = record_batch(records, record_bytes, timestamp_ms)
        super().__init__(version, topic, partition)
        self._records = records
        frame = request_frame(
            batch,
            version=version,
            client_id=client_id,
            topic=topic,
            partition=partition,
            acks=acks,
            timeout_ms=timeout_ms,
        )
        start = bytes(frame).index(batch)
        crc_position = start + _CRC_POSITION
        self._patch_position = start + _PRODUCER_POSITION
        # The records count and the beginning of the first record stand between the two.
        between = batch[_PRODUCER_POSITION + _PRODUCER.size : event_position]
        self._between = between
        self._pack_patch = Struct(f"{_PRODUCER.format}{len(between)}sq").pack_into
        self._checked = slice(start + _CRC_START, start + len(batch))
        # In a block of frames one `pack_into` writes from the correlation id to the CRC.
        self._between_ids = bytes(frame[CORRELATION_POSITION + CORRELATION.size : crc_position])
        self._pack_ids = Struct(f"{CORRELATION.format}{len(self._between_ids)}sI").pack_into
        self.size = len(frame)
        """Bytes of each frame."""
        self._block = frame
        """One or several frames, to be patched."""
        self._places: list[tuple[int, int, memoryview]] = []
        """Of each frame in the block where the patch and the ids are, and the bytes of its CRC."""
        self._find_places()

    def frame(
        self, correlation_id: int, producer_id: int, epoch: int, sequence: int, event_id: int
    ) -> bytes:
        """Return a request; producer id, epoch and sequence are -1 without idempotence."""
        block = self._block
        self._pack_patch(
            block, self._patch_position, producer_id, epoch, sequence, self._between, event_id
        )
        self._pack_ids(
            block, CORRELATION_POSITION, correlation_id, self._between_ids, crc32c(self._first_crc)
        )
        return bytes(self._first)

    def frames(
        self,
        correlation_id: int,
        producer_id: int,
        epoch: int,
        sequence: int,
        event_ids: Sequence[int],
    ) -> bytes:
        """Return a request for each event, after each other.

        Correlation id and sequence are those of the first request; the others follow.
        """
        count = len(event_ids)
        if count > len(self._places):
            self._grow(count)
        block, between, between_ids = self._block, self._between, self._between_ids
        patch, ids = self._pack_patch, self._pack_ids
        for (patch_position, position, checked), event_id in zip(
            self._places, event_ids, strict=False
        ):
            patch(block, patch_position, producer_id, epoch, sequence, between, event_id)
            ids(block, position, correlation_id, between_ids, crc32c(checked))
            correlation_id += 1
            if sequence >= 0:
                sequence = (sequence + self._records) & _SEQUENCE_MASK
        if count == len(self._places):
            return bytes(block)
        return bytes(memoryview(block)[: count * self.size])

    def _grow(self, count: int) -> None:
        """Make room for `count` frames."""
        self._block = self._block[: self.size] * count
        self._find_places()

    def _find_places(self) -> None:
        view = memoryview(self._block)
        self._first = view[: self.size]
        self._places = [
            (
                start + self._patch_position,
                start + CORRELATION_POSITION,
                view[start : start + self.size][self._checked],
            )
            for start in range(0, len(self._block), self.size)
        ]
        self._first_crc = self._places[0][-1]


def _response_layout(version: int, topic: str, partition: int) -> tuple[Struct, int]:
    """Return the layout of a successful response, and its size in bytes.

    The positions are those of recognisable numbers in an encoded response.
    """
    error_code, base_offset, throttle_time_ms = 0x5A5B, 0x5A5B5C5D5E5F5051, 0x6A6B6C6D
    result = PartitionResult(partition, error_code, base_offset)
    body = bytes(encode_response(version, [TopicResult(topic, None, [result])], throttle_time_ms))
    header = CORRELATION.size + (version >= FLEXIBLE_VERSION_MIN)
    error_position = header + body.index(Struct(">hq").pack(error_code, base_offset))
    throttle_position = header + body.rindex(_SIZE.pack(throttle_time_ms))
    response = Struct(f">i{error_position - 4}xhq{throttle_position - error_position - 10}xi")
    return response, header + len(body)


def _run_layout(response: str, response_bytes: int, count: int) -> Struct:
    """Return the layout of `count` responses; `response` is that of one of them without its size.

    Size and correlation id are one number.
    """
    rest = response.removeprefix(CORRELATION.format)
    padding = response_bytes - Struct(response).size
    return Struct(f">{f'q{rest}{padding}x' * count}")


def record_batch(records: int, record_bytes: int, timestamp_ms: int) -> tuple[bytes, int]:
    """Return a batch of `records` values of `record_bytes`, and the position of the first value."""
    encoded = bytearray()
    event_position = 0
    for delta in range(records):
        record = bytearray(b"\x00")  # attributes
        record += _varint(0) + _varint(delta) + _varint(-1) + _varint(record_bytes)
        value_position = len(record)
        record += b"." * record_bytes + _varint(0)
        size = _varint(len(record))
        if delta == 0:
            event_position = HEADER_BYTES + len(size) + value_position
        encoded += size + record
    length, times = HEADER_BYTES - LOG_OVERHEAD_BYTES + len(encoded), (timestamp_ms, timestamp_ms)
    header = _BATCH_HEADER.pack(
        0, length, -1, MAGIC, 0, 0, records - 1, *times, -1, -1, -1, records
    )
    return header + bytes(encoded), event_position


def event_of(batch: bytes | memoryview) -> int:
    """Return the event id in a batch of this load, whose records may be compressed or have keys.

    Raises:
        DecodeError: the batch is not from this load.
    """
    try:
        (attributes,) = _ATTRIBUTES.unpack_from(batch, _CRC_START)
        codec = attributes & COMPRESSION_MASK
        if codec:
            view = decompress(bytes(batch[HEADER_BYTES:]), codec, DECOMPRESSED_BYTES_MAX)
        else:
            view = bytes(batch[HEADER_BYTES : HEADER_BYTES + _FIRST_RECORD_BYTES])
        _, position = read_unsigned_varint(view, 0)
        position += 1
        for _ in range(2):  # time and offset
            _, position = read_unsigned_varint(view, position)
        key_bytes, position = read_unsigned_varint(view, position)
        position += max(0, key_bytes >> 1 ^ -(key_bytes & 1))  # zigzag: -1 for no key
        _, position = read_unsigned_varint(view, position)  # the size of the value
        return int(EVENT.unpack_from(view, position)[0])
    except Exception as error:
        raise DecodeError(f"not a batch of this load: {error!r}") from error


def _varint(value: int) -> bytes:
    """Encode a signed varint with zigzag encoding."""
    value = value << 1 ^ value >> 63
    encoded = bytearray()
    while value & ~0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
