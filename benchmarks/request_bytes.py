"""Encoded requests for measurements, and a blocking connection for all other requests.

All Produce requests of a run have the same size, so a range of them is a slice of one buffer.
"""

import re
import time
from dataclasses import dataclass
from struct import Struct
from typing import Any, Protocol

from kafka.record.default_records import DefaultRecordBatchBuilder

from client.blocking_connection import BlockingConnection
from client.resources import Address
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.checksum import crc32c
from protocol.records import HEADER_BYTES

CLIENT_ID = "benchmark"
PRODUCE_VERSION = 9
VALUE_BYTES = 100
TIMEOUT_MS = 30_000
TOPIC_WAIT_S = 10.0

_CORRELATION = Struct(">i")
_CORRELATION_POSITION = 8
_CRC = Struct(">I")
_CRC_POSITION = 17
_CRC_START = 21
_SEQUENCE = Struct(">i")
_SEQUENCE_POSITION = 53
_SEQUENCE_MASK = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class ProduceRequests:
    """Framed requests of `size` bytes each, back to back; request i has correlation id i."""

    frames: memoryview
    size: int

    def run(self, first: int, end: int) -> memoryview:
        """Return the bytes of requests first to end - 1."""
        return self.frames[first * self.size : end * self.size]


def produce_requests(
    topic: str,
    count: int,
    *,
    producer_id: int = -1,
    producer_epoch: int = -1,
    partition_count: int = 1,
) -> ProduceRequests:
    """Return `count` requests with one record for each of the first partitions.

    With a producer id sequences start at 0 in each partition.
    """
    is_idempotent = producer_id >= 0
    batch = record_batch(producer_id, producer_epoch, 0 if is_idempotent else -1)
    template = produce_frame(topic, batch, *range(partition_count))
    size = len(template)
    frames = bytearray(template * count)
    positions = [found.start() for found in re.finditer(re.escape(batch), template)]
    assert len(positions) == partition_count
    for index in range(count):
        start = index * size
        _CORRELATION.pack_into(frames, start + _CORRELATION_POSITION, index)
        if is_idempotent:
            at = start + positions[0]
            _SEQUENCE.pack_into(frames, at + _SEQUENCE_POSITION, index & _SEQUENCE_MASK)
            crc = crc32c(bytes(frames[at + _CRC_START : at + len(batch)]))
            _CRC.pack_into(frames, at + _CRC_POSITION, crc)
            for position in positions[1:]:
                other = start + position
                frames[other : other + len(batch)] = frames[at : at + len(batch)]
    return ProduceRequests(memoryview(bytes(frames)), size)


def produce_request(topic: str, producer_id: int, producer_epoch: int, correlation: int) -> bytes:
    """Return a framed request with the first batch of this producer."""
    frame = bytearray(produce_frame(topic, record_batch(producer_id, producer_epoch, 0), 0))
    _CORRELATION.pack_into(frame, _CORRELATION_POSITION, correlation)
    return bytes(frame)


def record_batch(producer_id: int, producer_epoch: int, base_sequence: int) -> bytes:
    """Return a batch with one record of `VALUE_BYTES` and no key."""
    builder = batch_builder(1 << 20, producer_id, producer_epoch, base_sequence)
    timestamp_ms = int(time.time() * 1000)
    builder.append(offset=0, timestamp=timestamp_ms, key=None, value=b"x" * VALUE_BYTES, headers=[])
    batch = bytes(builder.build())
    assert len(batch) > HEADER_BYTES
    return batch


def batch_builder(
    size_bytes: int, producer_id: int = -1, producer_epoch: int = -1, base_sequence: int = -1
) -> DefaultRecordBatchBuilder:
    """Return a builder of a batch that has no more bytes; without an id it is not idempotent."""
    return DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        batch_size=size_bytes,
    )


def produce_frame(topic: str, batch: bytes, *indexes: int) -> bytes:
    """Return a framed request with the same batch for some partitions."""
    topic_data = messages.ProduceRequest.TopicProduceData
    partition_data = topic_data.PartitionProduceData
    request = messages.ProduceRequest(
        version=PRODUCE_VERSION,
        transactional_id=None,
        acks=-1,
        timeout_ms=TIMEOUT_MS,
        topic_data=[
            topic_data(
                version=PRODUCE_VERSION,
                name=topic,
                partition_data=[
                    partition_data(version=PRODUCE_VERSION, index=index, records=batch)
                    for index in indexes
                ],
            )
        ],
    )
    return frame_request(request, 0)


def frame_request(request: Any, correlation: int) -> bytes:
    """Return a kafka-python request with header and size."""
    request.with_header(correlation_id=correlation, client_id=CLIENT_ID)
    return bytes(request.encode(header=True, framed=True))


def decode_response(api_key: ApiKey, api_version: int, frame: bytes | memoryview) -> Any:
    """Decode the response in a frame that still contains its size."""
    response = messages.response_class(api_key)
    return response.decode(bytes(frame), version=api_version, header=True, framed=True)


class LoadError(Exception):
    """The server returned an error, a wrong response, or none."""


class RequestConnection(Protocol):
    """A connection for one request at a time, in the version that the request has."""

    def ask(self, request: Any) -> Any:
        """Return the decoded response."""


class UnmeasuredConnection(BlockingConnection):
    """A connection for one request at a time in the version that the request has.

    It is for requests that are not measured, to servers of any kind: it sends no ApiVersions.
    """

    def __init__(self, address: tuple[str, int], timeout_s: float = 10.0) -> None:
        super().__init__(Address(*address), CLIENT_ID, timeout_s=timeout_s)

    def ask(self, request: Any, correlation: int = 0) -> Any:
        """Send a kafka-python request and return its decoded response."""
        self.send(frame_request(request, correlation))
        return decode_response(ApiKey(request.API_KEY), request.API_VERSION, self.receive_frame())

    def create_topic(self, topic: str, partition_count: int = 1) -> None:
        """Create a topic by a Metadata request, as producers do, and wait for it.

        One with several partitions is created by CreateTopics.
        """
        if partition_count > 1:
            self._create_partitions(topic, partition_count)
        version = 5
        request_topic = messages.MetadataRequest.MetadataRequestTopic
        deadline_s = time.monotonic() + TOPIC_WAIT_S
        while time.monotonic() < deadline_s:
            response = self.ask(
                messages.MetadataRequest(
                    version=version,
                    topics=[request_topic(version=version, name=topic)],
                    allow_auto_topic_creation=True,
                )
            )
            (found,) = response.topics
            if found.error_code == 0 and found.partitions:
                return
            time.sleep(0.02)
        raise TimeoutError(f"topic {topic} was not created within {TOPIC_WAIT_S} s")

    def _create_partitions(self, topic: str, partition_count: int) -> None:
        version = 4
        response = self.ask(
            messages.CreateTopicsRequest(
                version=version,
                topics=[
                    messages.CreateTopicsRequest.CreatableTopic(
                        version=version,
                        name=topic,
                        num_partitions=partition_count,
                        replication_factor=1,
                        assignments=[],
                        configs=[],
                    )
                ],
                timeout_ms=TIMEOUT_MS,
                validate_only=False,
            )
        )
        if response.topics[0].error_code:
            raise ConnectionError(f"CreateTopics returned error {response.topics[0].error_code}")

    def offers(self, api_key: ApiKey) -> bool:
        """Return whether the server's ApiVersions lists a key."""
        response = self.ask(messages.ApiVersionsRequest(version=0))
        return any(entry.api_key == api_key for entry in response.api_keys)

    def init_producer_id(self, version: int = 1) -> tuple[int, int]:
        """Return a new producer id and its epoch, once the server has some."""
        deadline_s = time.monotonic() + TOPIC_WAIT_S
        response = self.ask(init_producer_id_request(version))
        while response.error_code == _LOADING and time.monotonic() < deadline_s:
            time.sleep(0.02)
            response = self.ask(init_producer_id_request(version))
        if response.error_code:
            raise ConnectionError(f"InitProducerId returned error {response.error_code}")
        return response.producer_id, response.producer_epoch


_LOADING = 14
"""COORDINATOR_LOAD_IN_PROGRESS: Apache Kafka gets its first block of ids after its start."""


def init_producer_id_request(version: int = 1) -> Any:
    """Return an InitProducerId request of an idempotent producer without transactions."""
    return messages.InitProducerIdRequest(
        version=version, transactional_id=None, transaction_timeout_ms=60_000
    )


def metadata_request() -> Any:
    """Return a Metadata request without topics, as a client sends it first."""
    return messages.MetadataRequest(version=5, topics=[], allow_auto_topic_creation=False)
