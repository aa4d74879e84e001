"""An error for a part of what a request asks for: the rest is handled and answered as ever."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from broker.cluster.cluster import Cluster
from broker.faults.error_responses import Each, error_arrays
from broker.faults.rule import FaultRule
from broker.faults.subject import group_name, partition_index, topic_name
from broker.request.context import RequestContext
from protocol import codec, messages, produce
from protocol.api_keys import ApiKey


@dataclass(frozen=True, slots=True)
class Split:
    """A request in two: what the rule is about, as decoded for its API; and the rest, as a body."""

    concerned: Any
    rest_body: bytes


def split(context: RequestContext, body: bytes, rule: FaultRule, cluster: Cluster) -> Split | None:
    """Take a request apart by a rule's topic, partition and group; None when it is for all of it.

    One that is too large to be taken apart (a Produce beyond 16 MiB) is refused as a whole.

    Raises:
        DecodeError: `body` is not the message it claims to be.
    """
    is_for_all = rule.topic is None and rule.partition is None and rule.group is None
    if is_for_all or len(body) > codec.SCHEMA_BODY_BYTES_MAX:
        return None
    api_key, version = ApiKey(context.api_key), context.api_version

    def decode() -> Any:
        return codec.decode_request(api_key, version, body, 0, len(body))

    concerned, rest = decode(), decode()
    has_concerned = has_rest = False
    for each in error_arrays(api_key, version):
        has_concerned |= _keep(concerned, each, rule, cluster, are_concerned=True)
        has_rest |= _keep(rest, each, rule, cluster, are_concerned=False)
    if not has_concerned or not has_rest:
        return None
    if api_key is ApiKey.PRODUCE:
        data = encoded(concerned, version)
        concerned = produce.decode_request(version, data, 0, len(data))
    return Split(concerned, encoded(rest, version))


def merged(context: RequestContext, frame: bytes, error_response: Any) -> bytes:
    """The frame of a response with the errors in it, in place of what it says of the same things."""
    api_key, version = ApiKey(context.api_key), context.api_version
    response = codec.decode_response(frame, api_key, version)
    error_body = memoryview(encoded(error_response, version))
    errors = codec.decode_body(messages.response_class(api_key), version, error_body)
    for each in error_arrays(api_key, version):
        _merge(response, errors, each)
    return codec.encode_response(context.correlation_id, api_key, version, response)


def encoded(message: Any, version: int) -> bytes:
    """Return the body of a message, or of a response that its handler has encoded."""
    if isinstance(message, bytes | bytearray):
        return bytes(message)
    return codec.encode_message(message, version)


def _keep(
    request: Any, each: Each, rule: FaultRule, cluster: Cluster, *, are_concerned: bool
) -> bool:
    """Leave in an array of the request what the rule is about, or what it isn't; is any left?"""
    kept = []
    for element in getattr(request, each.source) or ():
        if not _is_concerned(element, each, rule, cluster):
            if not are_concerned:
                kept.append(element)
        elif each.inner is None or rule.partition is None:
            if are_concerned:
                kept.append(element)
        else:
            parts = [
                part
                for part in getattr(element, each.inner.source)
                if (partition_index(part) == rule.partition) is are_concerned
            ]
            setattr(element, each.inner.source, parts)
            if parts:
                kept.append(element)
    setattr(request, each.source, kept)
    return bool(kept)


def _is_concerned(element: Any, each: Each, rule: FaultRule, cluster: Cluster) -> bool:
    if each.source in {"groups", "groups_names", "coordinator_keys"}:
        return rule.group is None or group_name(element) == rule.group
    return rule.topic is None or topic_name(element, cluster) == rule.topic


def _merge(response: Any, errors: Any, each: Each) -> None:
    """Put the errors' entries into an array of the response, whose entries of the same name go."""
    name_of = _namer(each)
    entries = {name_of(entry): entry for entry in getattr(response, each.target) or ()}
    for error in getattr(errors, each.target):
        same = entries.get(name_of(error))
        if same is not None and each.inner is not None and each.inner.carries_error:
            _merge(same, error, each.inner)
        else:
            entries[name_of(error)] = error
    setattr(response, each.target, list(entries.values()))


def _namer(each: Each) -> Callable[[Any], Any]:
    def name_of(entry: Any) -> tuple[Any, ...]:
        return tuple(_names(entry, each))

    return name_of


def _names(entry: Any, each: Each) -> Iterator[Any]:
    for field_name, _source in each.copied:
        yield getattr(entry, field_name)
