"""Encode Produce responses, versions 3 to 13; `protocol/produce_decoder.py` has the requests.

Produce is the most frequent request, and the general codec costs several times as much as the rest
of its path. Kafka's schema: `ProduceResponse.json`.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from struct import Struct
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from protocol import messages
from protocol.codec import encode_body, encode_unsigned_varint
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY, may_pause, paced_elements, paced_range, paced_stream

FLEXIBLE_VERSION_MIN = 9
CURRENT_LEADER_VERSION_MIN = 10
TOPIC_ID_VERSION_MIN = 13
ZSTD_VERSION_MIN = 7
"""The first version whose batches may be compressed with zstd (KIP-110)."""

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_RESULT = Struct(">ihqqq")
_RESULT_V3 = Struct(">ihqq")
_pack_result_start = Struct(">ihqqqB").pack
"""Packs the fields of a result, and one byte for no record errors."""
_pack_result = Struct(">ihqqqBBB").pack
"""The same with no message and no tagged fields."""
# No throttle time, no tagged fields.
_NOT_THROTTLED = b"\x00\x00\x00\x00\x00"
_NO_TOPIC_ID = UUID(int=0)
_PACKED_TOGETHER = 64
"""Results that one call packs."""


class RecordError(NamedTuple):
    """A record of a batch that was refused, and the reason."""

    batch_index: int
    message: str | None


ResultFields: TypeAlias = tuple[
    int, int, int, int, int, str | None, tuple[RecordError, ...], tuple[int, int] | None
]
"""The fields of a `PartitionResult` as a plain tuple, for the hot path."""
TopicResultFields: TypeAlias = tuple[str, UUID | None, Sequence[ResultFields]]
"""The fields of a `TopicResult`."""


RESULT_FORMAT = "i2xqqqB2x"
"""A result from version 9 on: index, no error, base offset, append time, start offset, no record
errors, no message and no tagged fields.
"""
APPENDED_FIELDS = 5
NO_RECORD_ERRORS = 1
"""How an empty array is encoded; the fields of a response are packed in one call."""
AppendedFields: TypeAlias = list[int]
"""Of each batch that is stored: index, base offset, append time, start offset, NO_RECORD_ERRORS."""
Refusals: TypeAlias = "list[tuple[int, PartitionResult]]"
"""Results with an error, each with the number of fields of those before that have none."""


class PartitionResult(NamedTuple):
    """The response for one partition; -1 for an absent offset, time or leader.

    Message, record errors and current leader are sent with an error only.
    """

    partition_index: int
    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    error_message: str | None = None
    record_errors: tuple[RecordError, ...] = ()
    current_leader: tuple[int, int] | None = None
    """Leader id and leader epoch (version 10 and later, KIP-951)."""


class TopicResult(NamedTuple):
    """The results of one topic, by name or id as in the request."""

    name: str
    topic_id: UUID | None
    partitions: list[PartitionResult]


class NodeEndpoint(NamedTuple):
    """The address of a current leader (version 10 and later, KIP-951)."""

    node_id: int
    host: str
    port: int
    rack: str | None


@may_pause
def partition_results(appended: AppendedFields, refusals: Refusals) -> list[ResultFields]:
    """Return the results of all partitions in the order of the request."""
    results: list[ResultFields] = []
    begin, rows, no_error = 0, zip(*[iter(appended)] * APPENDED_FIELDS, strict=True), ErrorCode.NONE
    for at, refusal in paced_elements([*refusals, (len(appended), None)]):
        count = (at - begin) // APPENDED_FIELDS
        for index, base_offset, append_time_ms, start_offset, _ in paced_stream(
            islice(rows, count)
        ):
            results.append(
                (index, no_error, base_offset, append_time_ms, start_offset, None, (), None)
            )
        if refusal is not None:
            results.append(refusal)
        begin = at
    return results


@may_pause
def encode_response(
    api_version: int,
    topics: Sequence[TopicResultFields],
    throttle_time_ms: int = 0,
    node_endpoints: Sequence[NodeEndpoint] = (),
    *,
    has_error: bool = True,
) -> bytes | bytearray:
    """Encode the body of a response; without `has_error` no result is an error."""
    if has_error and (node_endpoints or _has_details(topics)):
        return _encode_with_details(api_version, topics, throttle_time_ms, node_endpoints)
    if api_version >= FLEXIBLE_VERSION_MIN:
        return _encode_flexible(api_version, topics, throttle_time_ms)
    return _encode_classic(api_version, topics, throttle_time_ms)


@may_pause
def encode_appended(
    api_version: int,
    topics: Sequence[tuple[str, UUID | None, AppendedFields]],
    throttle_time_ms: int = 0,
) -> bytes:
    """Encode the body of a response without an error, from version 9 on."""
    parts = [encode_unsigned_varint(len(topics) + 1)]
    for name, topic_id, appended in paced_elements(topics):
        count = len(appended) // APPENDED_FIELDS
        parts.append(_topic_start(api_version, name, topic_id, count))
        for at in paced_range(-(-count // _PACKED_TOGETHER)):
            start = at * _PACKED_TOGETHER * APPENDED_FIELDS
            fields = appended[start : start + _PACKED_TOGETHER * APPENDED_FIELDS]
            parts.append(_results_packer(len(fields) // APPENDED_FIELDS)(*fields))
        parts.append(b"\x00")
    parts.append(_INT32.pack(throttle_time_ms) + b"\x00" if throttle_time_ms else _NOT_THROTTLED)
    return b"".join(parts)


@cache
def _results_packer(count: int) -> Callable[..., bytes]:
    """Return what packs the fields of so many results without an error."""
    return Struct(f">{RESULT_FORMAT * count}").pack


def _topic_start(api_version: int, name: str, topic_id: UUID | None, count: int) -> bytes:
    if api_version >= TOPIC_ID_VERSION_MIN:
        return (topic_id or _NO_TOPIC_ID).bytes + encode_unsigned_varint(count + 1)
    encoded_name = name.encode()
    size = encode_unsigned_varint(len(encoded_name) + 1)
    return size + encoded_name + encode_unsigned_varint(count + 1)


@may_pause
def _has_details(topics: Sequence[TopicResultFields]) -> bool:
    """Return whether any error has record errors or a current leader."""
    for _name, _topic_id, results in paced_elements(topics):
        for _, error_code, _, _, _, _, record_errors, current_leader in paced_elements(results):
            if error_code and (record_errors or current_leader):
                return True
    return False


@may_pause
def _encode_flexible(
    api_version: int, topics: Sequence[TopicResultFields], throttle_time_ms: int
) -> bytes:
    parts = [encode_unsigned_varint(len(topics) + 1)]
    for name, topic_id, results in topics if len(topics) <= LOOK_EVERY else paced_elements(topics):
        parts.append(_topic_start(api_version, name, topic_id, len(results)))
        for index, error_code, base_offset, append_time_ms, start_offset, message, _, _ in (
            results if len(results) <= LOOK_EVERY else paced_elements(results)
        ):
            if message is None:
                parts.append(
                    _pack_result(
                        index, error_code, base_offset, append_time_ms, start_offset, 1, 0, 0
                    )
                )
            else:
                parts.append(
                    _pack_result_start(
                        index, error_code, base_offset, append_time_ms, start_offset, 1
                    )
                )
                parts.append(_flexible_message(message))
        parts.append(b"\x00")
    parts.append(_INT32.pack(throttle_time_ms) + b"\x00" if throttle_time_ms else _NOT_THROTTLED)
    return b"".join(parts)


def _flexible_message(text: str) -> bytes:
    encoded = text.encode()
    return encode_unsigned_varint(len(encoded) + 1) + encoded + b"\x00"


@may_pause
def _encode_classic(
    api_version: int, topics: Sequence[TopicResultFields], throttle_time_ms: int
) -> bytes:
    parts = [_INT32.pack(len(topics))]
    for name, _topic_id, results in topics if len(topics) <= LOOK_EVERY else paced_elements(topics):
        encoded_name = name.encode()
        parts.append(_INT16.pack(len(encoded_name)) + encoded_name + _INT32.pack(len(results)))
        for result in results if len(results) <= LOOK_EVERY else paced_elements(results):
            if api_version >= 8:
                parts.append(_RESULT.pack(*result[:5]) + b"\x00\x00\x00\x00")
                parts.append(_classic_message(result[5]))
            elif api_version >= 5:
                parts.append(_RESULT.pack(*result[:5]))
            else:
                parts.append(_RESULT_V3.pack(*result[:4]))
    parts.append(_INT32.pack(throttle_time_ms))
    return b"".join(parts)


def _classic_message(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    encoded = text.encode()
    return _INT16.pack(len(encoded)) + encoded


@may_pause
def _encode_with_details(
    api_version: int,
    topics: Sequence[TopicResultFields],
    throttle_time_ms: int,
    node_endpoints: Sequence[NodeEndpoint],
) -> bytes | bytearray:
    topic_class = messages.ProduceResponse.TopicProduceResponse
    partition_class = topic_class.PartitionProduceResponse
    responses = []
    for name, topic_id, results in paced_elements(topics):
        partition_responses = []
        for result in map(PartitionResult._make, paced_elements(results)):
            fields: dict[str, Any] = {
                "index": result.partition_index,
                "error_code": result.error_code,
                "base_offset": result.base_offset,
                "log_append_time_ms": result.log_append_time_ms,
                "log_start_offset": result.log_start_offset,
                "record_errors": [
                    partition_class.BatchIndexAndErrorMessage(
                        batch_index=record_error.batch_index,
                        batch_index_error_message=record_error.message,
                    )
                    for record_error in result.record_errors
                ],
                "error_message": result.error_message,
            }
            if result.current_leader is not None:
                leader_id, leader_epoch = result.current_leader
                fields["current_leader"] = partition_class.LeaderIdAndEpoch(
                    leader_id=leader_id, leader_epoch=leader_epoch
                )
            partition_responses.append(partition_class(version=api_version, **fields))
        responses.append(
            topic_class(
                version=api_version,
                name=name,
                topic_id=topic_id or _NO_TOPIC_ID,
                partition_responses=partition_responses,
            )
        )
    response = messages.ProduceResponse(
        version=api_version, responses=responses, throttle_time_ms=throttle_time_ms
    )
    if node_endpoints and api_version >= CURRENT_LEADER_VERSION_MIN:
        response.node_endpoints = [
            messages.ProduceResponse.NodeEndpoint(**endpoint._asdict())
            for endpoint in node_endpoints
        ]
    return encode_body(response, api_version)
