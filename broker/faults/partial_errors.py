"""Fail a part of a request; the rest is handled and gets its usual response."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.faults.error_responses import ErrorArray, has_session_error, part_arrays
from broker.faults.match import Match
from broker.fetch.share_session_parts import complete_share_request
from broker.request.context import RequestContext
from protocol import codec, messages, produce_decoder
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause
from protocol.request_targets import group_of, partition_of, topic_of


@dataclass(frozen=True, slots=True)
class Split:
    """A request in two: the part that fails, as decoded for its API; and the rest, as a body."""

    failing: Any
    rest_body: bytes


@may_pause
def split(context: RequestContext, body: bytes, match: Match, cluster: Cluster) -> Split | None:
    """Split a request by a rule's topic, partition and group; None if all of it fails.

    A request that is too large to be split (a Produce beyond 16 MiB) fails as a whole. In a share
    session all partitions may fail without the session: the rest then names none.

    Raises:
        DecodeError: `body` is malformed.
    """
    names_partitions = match.topic is not None or match.partition is not None
    is_for_all = not names_partitions and match.group is None
    if is_for_all or len(body) > codec.SCHEMA_BODY_BYTES_MAX:
        return None
    api_key, version = ApiKey(context.api_key), context.api_version

    def decode() -> Any:
        return codec.decode_request(api_key, version, body, 0, len(body))

    failing, rest = decode(), decode()
    if api_key is ApiKey.SHARE_FETCH:
        failing = complete_share_request(context, failing, cluster)
        rest.max_wait_ms = 0  # an error ends the wait
    has_failing = False
    has_rest = has_session_error(api_key) and names_partitions
    for array in part_arrays(api_key, version):
        has_failing |= _filter(failing, array, match, cluster, keep_matching=True)
        has_rest |= _filter(rest, array, match, cluster, keep_matching=False)
    if not has_failing or not has_rest:
        return None
    if api_key is ApiKey.PRODUCE:
        data = encoded(failing, version)
        failing = produce_decoder.decode_request(version, data, 0, len(data))
    return Split(failing, encoded(rest, version))


def merged(
    context: RequestContext, frame: bytes, error_response: "messages.Message | bytes | bytearray"
) -> bytes:
    """Return a response frame with the entries of an error response in place of its own."""
    api_key, version = ApiKey(context.api_key), context.api_version
    response = codec.decode_response(frame, api_key, version)
    error_body = memoryview(encoded(error_response, version))
    errors = codec.decode_body(messages.response_class(api_key), version, error_body)
    for array in part_arrays(api_key, version):
        _merge(response, errors, array)
    return codec.encode_response(context.correlation_id, api_key, version, response)


def encoded(message: "messages.Message | bytes | bytearray", version: int) -> bytes:
    """Return the body of a message, or of a response that its handler has encoded."""
    if isinstance(message, bytes | bytearray):
        return bytes(message)
    return codec.encode_message(message, version)


def _filter(
    request: "messages.Message",
    array: ErrorArray,
    match: Match,
    cluster: Cluster,
    *,
    keep_matching: bool,
) -> bool:
    """Filter an array in place to the entries that match the rule (or do not).

    Return whether any remain.
    """
    kept = []
    for entry in getattr(request, array.source) or ():
        if not _matches(entry, array, match, cluster):
            if not keep_matching:
                kept.append(entry)
        elif array.inner is None or match.partition is None:
            if keep_matching:
                kept.append(entry)
        else:
            parts = [
                part
                for part in getattr(entry, array.inner.source)
                if (partition_of(part) == match.partition) is keep_matching
            ]
            setattr(entry, array.inner.source, parts)
            if parts:
                kept.append(entry)
    setattr(request, array.source, kept)
    return bool(kept)


def _matches(entry: Any, array: ErrorArray, match: Match, cluster: Cluster) -> bool:
    if array.source in {"groups", "groups_names", "coordinator_keys"}:
        return match.group is None or group_of(entry) == match.group
    if match.topic is None:
        return True
    name = topic_of(entry)
    if isinstance(name, UUID):
        topic = cluster.topics.get_by_id(name)
        return topic is not None and topic.name == match.topic
    return name == match.topic


def _merge(response: "messages.Struct", errors: "messages.Struct", array: ErrorArray) -> None:
    """Put the entries of an error response into an array, in place of those with the same key."""
    key_of = _key_function(array)
    entries = {key_of(entry): entry for entry in getattr(response, array.target) or ()}
    for error in getattr(errors, array.target):
        same = entries.get(key_of(error))
        if same is not None and array.inner is not None and array.inner.carries_error:
            _merge(same, error, array.inner)
        else:
            entries[key_of(error)] = error
    setattr(response, array.target, list(entries.values()))


def _key_function(array: ErrorArray) -> Callable[[Any], tuple[Any, ...]]:
    names = [target for target, _source in array.copied]
    return lambda entry: tuple(getattr(entry, name) for name in names)
