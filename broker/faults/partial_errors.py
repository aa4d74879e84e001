"""Fail a part of a request; the rest is handled and gets its usual response."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from broker.cluster.cluster import Cluster
from broker.config.public_keys import may_show_config
from broker.faults.error_arrays import ErrorArray, fails_beside_parts, part_arrays
from broker.faults.match import Match
from broker.faults.selection import Selection
from broker.fetch.share_session_parts import complete_share_request
from broker.request.context import RequestContext
from protocol import codec, messages, produce_decoder
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause, paced_elements
from protocol.request_conditions import Knowledge, Node, fits_value
from protocol.request_targets import group_of, name_of_topic, partition_of, topic_of

_OF_GROUPS = frozenset({"groups", "groups_names", "group_ids"})
_OF_TRANSACTIONS = frozenset({"transactional_ids", "transactions"})
_OF_KEYS = frozenset({"coordinator_keys"})
"""The arrays of FindCoordinator, whose entries are groups or transactional ids."""
_OF_PARTITIONS = frozenset({"partitions", "partition_indexes", "partition_data"})
_ENTRIES_WITH_TOPICS = frozenset({"dirs", "markers", "transactions"})


@dataclass(frozen=True, slots=True)
class Split:
    """A request in two: the part that fails, as decoded for its API; and the rest, as a body.

    `places` has, by the name of an array in the response, where in it the entries of the failing
    part are, if nothing in an entry says what it is for.
    """

    failing: Any
    rest_body: bytes
    is_of_partitions: bool = False
    """Whether the parts are partitions, not groups."""
    places: dict[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Choice:
    """What a rule says about the parts of requests in this version."""

    match: Match
    api_key: ApiKey
    api_version: int
    roots: Sequence[Node]
    """The conditions on fields, of which one has to fit; none if there are no conditions."""
    knowledge: Knowledge

    @property
    def is_of_partitions(self) -> bool:
        """Whether the rule is for partitions of groups, where a request names groups."""
        groups = [root.child("groups") for root in self.roots]
        has_conditions = any(group is not None and group.child("topics") for group in groups)
        return has_conditions or any(
            name is not None for name in (self.match.topic, self.match.partition)
        )

    def arrays(self) -> list[ErrorArray]:
        """Return the arrays of the parts that may fail without the others."""
        is_of_partitions = self.is_of_partitions
        return list(part_arrays(self.api_key, self.api_version, is_of_partitions=is_of_partitions))

    def nodes(self, array: ErrorArray) -> list[Node | None]:
        """Return the conditions on entries of an array, of which one has to fit; None for any.

        Conditions on the entries of another array select none of this one.
        """
        if not self.roots:
            return [None]
        sources = {other.source for other in self.arrays()}
        others = sources - {array.source}
        return [
            root.child(array.source)
            for root in self.roots
            if root.child(array.source) is not None or not any(map(root.child, others))
        ]

    def narrows(self, array: ErrorArray, nodes: Sequence[Node | None]) -> bool:
        """Return whether the rule is for some of the entries of an array, or of arrays inside."""
        if any(node is not None for node in nodes) or not nodes:
            return True
        match, source = self.match, array.source
        if source in _OF_KEYS and match.group is match.transactional_id is None:
            return False
        if source in _OF_KEYS:
            return True
        if source in _OF_GROUPS:
            return match.group is not None or (_inner(array) is not None and self.is_of_partitions)
        if source in _OF_TRANSACTIONS and match.transactional_id is not None:
            return True
        if source in _OF_PARTITIONS:
            return match.partition is not None
        return match.topic is not None or match.partition is not None

    @may_pause
    def fitting(
        self, entry: Any, array: ErrorArray, nodes: Sequence[Node | None]
    ) -> list[Node | None]:
        """Return those of the conditions that an entry fits, but for conditions on inner arrays."""
        if not self._is_target(entry, array.source):
            return []
        inner = _inner(array)
        without = () if inner is None else (inner.source,)
        return [
            node
            for node in nodes
            if node is None or fits_value(entry, node, self.api_version, self.knowledge, without)
        ]

    def _is_target(self, entry: Any, source: str) -> bool:
        match = self.match
        if source in _OF_KEYS:
            return entry in {match.group, match.transactional_id} or (
                match.group is match.transactional_id is None
            )
        if source in _OF_GROUPS:
            return match.group is None or group_of(entry) == match.group
        if source in _OF_TRANSACTIONS:
            name = entry if isinstance(entry, str) else entry.transactional_id
            return match.transactional_id is None or name == match.transactional_id
        if source in _OF_PARTITIONS:
            return match.partition is None or partition_of(entry) == match.partition
        if match.topic is None or source in _ENTRIES_WITH_TOPICS:
            return True
        return name_of_topic(topic_of(entry), self.knowledge.topic_name) == match.topic


@may_pause
def split(
    context: RequestContext, body: bytes, match: Match, selection: Selection, cluster: Cluster
) -> Split | None:
    """Split a request by what a rule names; None if all of it fails.

    A request that is too large to be split (a Produce beyond 16 MiB) fails as a whole. If an error
    for the whole request is not one of its parts, all parts may fail without it: the rest then
    names none.

    Raises:
        DecodeError: `body` is malformed.
    """
    api_key, version = ApiKey(context.api_key), context.api_version
    if len(body) > codec.SCHEMA_BODY_BYTES_MAX or not _may_narrow(match, selection):
        return None

    def decode() -> Any:
        return codec.decode_request(api_key, version, body, 0, len(body))

    failing, rest = decode(), decode()
    if api_key is ApiKey.SHARE_FETCH:
        failing = complete_share_request(context, failing, cluster)
        rest.max_wait_ms = 0  # an error ends the wait
    knowledge = Knowledge(may_show_config, cluster.topics.name_of)
    roots = selection.roots(api_key, failing, knowledge)
    choice = _Choice(match, api_key, version, roots, knowledge)
    arrays = [(array, choice.nodes(array)) for array in choice.arrays()]
    if not any(choice.narrows(array, nodes) for array, nodes in arrays):
        return None
    has_failing = False
    has_rest = fails_beside_parts(api_key, version)
    places = {}
    for array, nodes in arrays:
        if _is_anonymous(array):
            places[array.target] = [
                number
                for number, entry in enumerate(getattr(failing, array.source) or ())
                if choice.fitting(entry, array, nodes)
            ]
        has_failing |= _filter(failing, array, nodes, choice, keep_matching=True)
        has_rest |= _filter(rest, array, nodes, choice, keep_matching=False)
    if not has_failing or not has_rest:
        return None
    if api_key is ApiKey.PRODUCE:
        data = encoded(failing, version)
        failing = produce_decoder.decode_request(version, data, 0, len(data))
    return Split(failing, encoded(rest, version), choice.is_of_partitions, places)


def _may_narrow(match: Match, selection: Selection) -> bool:
    named = (match.topic, match.partition, match.group, match.transactional_id)
    return not selection.is_empty or any(name is not None for name in named)


def merged(
    context: RequestContext,
    frame: bytes,
    error_response: "messages.Message | bytes | bytearray",
    parts: Split,
    *,
    is_of_rest: bool,
) -> bytes:
    """Return a response frame in which the entries of an error response replace others.

    `is_of_rest`: the frame is the response to the rest of the request, not to all of it.
    """
    api_key, version = ApiKey(context.api_key), context.api_version
    response = codec.decode_response(frame, api_key, version)
    error_body = memoryview(encoded(error_response, version))
    errors = codec.decode_body(messages.response_class(api_key), version, error_body)
    for array in part_arrays(api_key, version, is_of_partitions=parts.is_of_partitions):
        if _is_anonymous(array):
            _merge_by_place(response, errors, array, parts, is_of_rest=is_of_rest)
        else:
            _merge(response, errors, array)
    return codec.encode_response(context.correlation_id, api_key, version, response)


def encoded(message: "messages.Message | bytes | bytearray", version: int) -> bytes:
    """Return the body of a message, or of a response that its handler has encoded."""
    if isinstance(message, bytes | bytearray):
        return bytes(message)
    return codec.encode_message(message, version)


def _inner(array: ErrorArray) -> ErrorArray | None:
    """Return the array inside whose entries may fail without the others."""
    return array.inner if array.inner is not None and array.inner.carries_error else None


def _is_anonymous(array: ErrorArray) -> bool:
    """Return whether an entry of the response does not say for which one of the request it is."""
    return not array.copied and array.inner is None


@may_pause
def _filter(
    holder: Any,
    array: ErrorArray,
    nodes: Sequence[Node | None],
    choice: _Choice,
    *,
    keep_matching: bool,
) -> bool:
    """Filter an array in place to the entries that match the rule (or do not).

    Return whether any remain.
    """
    inner = _inner(array)
    entries = getattr(holder, array.source)
    if entries is None:
        return False
    kept = []
    for entry in paced_elements(entries):
        fitting = choice.fitting(entry, array, nodes)
        if not fitting:
            if not keep_matching:
                kept.append(entry)
            continue
        below: list[Node | None] = []
        if inner is not None:
            below = [node and node.child(inner.source) for node in fitting]
        if inner is None or not choice.narrows(inner, below):
            if keep_matching:
                kept.append(entry)
        elif not getattr(entry, inner.source):
            if not keep_matching:  # it names no part that could fail
                kept.append(entry)
        elif _filter(entry, inner, below, choice, keep_matching=keep_matching):
            kept.append(entry)
    setattr(holder, array.source, kept)
    return bool(kept)


def _merge_by_place(
    response: "messages.Struct",
    errors: "messages.Struct",
    array: ErrorArray,
    parts: Split,
    *,
    is_of_rest: bool,
) -> None:
    entries = list(getattr(response, array.target) or ())
    failed = getattr(errors, array.target)
    for place, error in zip(parts.places[array.target], failed, strict=True):
        entries[place : place if is_of_rest else place + 1] = [error]
    setattr(response, array.target, entries)


def _merge(response: "messages.Struct", errors: "messages.Struct", array: ErrorArray) -> None:
    """Put the entries of an error response into an array, in place of those with the same key."""
    if not array.target:
        assert array.inner is not None
        _merge(response, errors, array.inner)
        return
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
    if not array.copied and array.inner is not None:  # a quota entity
        inner, entry_key = array.inner, _key_function(array.inner)
        return lambda entry: tuple(sorted(map(entry_key, getattr(entry, inner.target)), key=str))
    names = [target for target, _source in array.copied]
    return lambda entry: tuple(getattr(entry, name) for name in names)
