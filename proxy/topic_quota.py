"""KIP-599 in front of a cluster: the requests that create and delete partitions.

Only topics that would pass the checks of the cluster are charged, and how many partitions they get
is the cluster's to say: both are asked of it first, in the name of the client. So a request of a
client with a quota takes a request more: one with `validate_only`, or Metadata.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from broker.errors import Refusal
from broker.request.mutation_quota import MutationQuota
from broker.responses import DispatchResult
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause, paced_elements
from proxy.quota_request import QuotaRequest

_CREATE, _DELETE = messages.CreateTopicsResponse, messages.DeleteTopicsResponse
STRICT_VERSION_MIN = {
    ApiKey.CREATE_TOPICS: 6,
    ApiKey.DELETE_TOPICS: 5,
    ApiKey.CREATE_PARTITIONS: 3,
}
"""From these versions on clients know THROTTLING_QUOTA_EXCEEDED."""
COUNTED_VERSION_MIN = 5
"""The first version of CreateTopics whose response has numbers of partitions."""
TOPIC_STATES_VERSION_MIN = 6
"""From this version on DeleteTopics names topics by name or id."""
METADATA_VERSION = 9
METADATA_VERSION_OF_IDS = 12
NO_ID = UUID(int=0)
_Key = str | UUID


@may_pause
def handle_create_topics(request: QuotaRequest) -> DispatchResult:
    """Charge for the partitions of each new topic.

    Raises:
        DecodeError: the request is malformed.
    """
    version = max(request.context.api_version, COUNTED_VERSION_MIN)

    def go_on(message: Any, planned: Any) -> DispatchResult:
        counts = {
            topic.name: len(topic.assignments) or max(1, topic.num_partitions)
            for topic in paced_elements(message.topics)
        }
        valid: dict[_Key, int] = {}
        for topic in paced_elements(planned.topics):
            if not topic.error_code:
                # -1 if the client may not describe configurations
                said = topic.num_partitions
                valid[topic.name] = said if said > 0 else counts[topic.name]
        return _charge(request, message, "topics", valid, _refused_topic)

    return _ask_plan(request, version, go_on)


@may_pause
def handle_delete_topics(request: QuotaRequest) -> DispatchResult:
    """Charge for the partitions of each topic that is deleted.

    Raises:
        DecodeError: the request is malformed.
    """
    if not _has_limit(request):
        return request.pass_on()
    message = request.decoded()
    field = "topics" if request.context.api_version >= TOPIC_STATES_VERSION_MIN else "topic_names"
    keys = [_key_of(entry) for entry in paced_elements(getattr(message, field))]

    def go_on(counts: Mapping[_Key, int]) -> DispatchResult:
        valid = {key: counts[key] for key in keys if key in counts}
        return _charge(request, message, field, valid, _refused_deletion)

    return _ask_counts(request, keys, go_on)


@may_pause
def handle_create_partitions(request: QuotaRequest) -> DispatchResult:
    """Charge for the new partitions of each topic.

    Raises:
        DecodeError: the request is malformed.
    """

    def go_on(message: Any, planned: Any) -> DispatchResult:
        totals = {topic.name: topic.count for topic in paced_elements(message.topics)}
        valid = [found.name for found in planned.results if not found.error_code]

        def charge(counts: Mapping[_Key, int]) -> DispatchResult:
            added: dict[_Key, int] = {
                name: totals[name] - counts[name] for name in valid if name in counts
            }
            return _charge(request, message, "topics", added, _refused_growth)

        return _ask_counts(request, valid, charge)

    return _ask_plan(request, request.context.api_version, go_on)


@may_pause
def _ask_plan(
    request: QuotaRequest, version: int, go_on: Callable[[Any, Any], DispatchResult]
) -> DispatchResult:
    """Ask the cluster to validate the request, and go on with it and the response.

    Without a limit, and if the client only validates, the request passes as it is.

    Raises:
        DecodeError: the request is malformed.
    """
    message = request.decoded()
    if message.validate_only or not _has_limit(request):
        return request.pass_on()
    probe = request.decoded()
    probe.validate_only = True
    return request.ask(request.api_key, version, probe, partial(go_on, message))


def _has_limit(request: QuotaRequest) -> bool:
    context = request.context
    limits = request.cluster.quotas.clients.limits["controller_mutation_rate"]
    return limits.scope(context.principal, context.client_id).limit is not None


def _key_of(entry: Any) -> _Key:
    """Return the name of a topic in a request; its id if the client names it by that."""
    if isinstance(entry, str):
        return entry
    key: _Key = entry.topic_id if entry.name is None else entry.name
    return key


@may_pause
def _ask_counts(
    request: QuotaRequest,
    keys: list[_Key],
    go_on: Callable[[Mapping[_Key, int]], DispatchResult],
) -> DispatchResult:
    """Ask the cluster for the numbers of partitions of topics, by name or id."""
    has_ids = any(isinstance(key, UUID) for key in keys)
    version = METADATA_VERSION_OF_IDS if has_ids else METADATA_VERSION
    topic_class = messages.MetadataRequest.MetadataRequestTopic
    topics = [
        topic_class(version=version, topic_id=key, name=None)
        if isinstance(key, UUID)
        else topic_class(version=version, topic_id=NO_ID, name=key)
        for key in keys
    ]
    metadata = messages.MetadataRequest(
        version=version, topics=topics, allow_auto_topic_creation=False
    )

    def count(response: Any) -> DispatchResult:
        counts: dict[_Key, int] = {}
        for topic in paced_elements(response.topics):
            if not topic.error_code:
                counts[topic.name] = len(topic.partitions)
                if has_ids:
                    counts[topic.topic_id] = len(topic.partitions)
        return go_on(counts)

    return request.ask(ApiKey.METADATA, version, metadata, count)


@may_pause
def _charge(
    request: QuotaRequest,
    message: Any,
    field: str,
    counts: Mapping[_Key, int],
    refused_entry: Callable[[int, _Key, Refusal], Any],
) -> DispatchResult:
    """Charge topics in the order of the request, and send on those that pass.

    `counts` has those that would pass the checks of the cluster. `field` names the array of the
    request.
    """
    context = request.context
    is_strict = context.api_version >= STRICT_VERSION_MIN[request.api_key]
    quota = MutationQuota(request.cluster, context, is_strict=is_strict)
    rest, refused = [], {}
    entries = getattr(message, field)
    for entry in paced_elements(entries):
        key = _key_of(entry)
        refusal = quota.charge(counts[key]) if key in counts else None
        if refusal is None:
            rest.append(entry)
        else:
            refused[key] = refused_entry(context.api_version, key, refusal)
    setattr(message, field, rest)

    def merge(response: Any) -> Any:
        quota.settle(request.now_ms)
        results: dict[_Key, Any] = {}
        for entry in paced_elements(getattr(response, _RESULTS[request.api_key])):
            results[entry.name] = entry
            if getattr(entry, "topic_id", None):
                results[entry.topic_id] = entry
        results |= refused
        keys = dict.fromkeys(map(_key_of, entries))
        merged = [results[key] for key in keys if key in results]
        setattr(response, _RESULTS[request.api_key], merged)
        return response

    if not rest:
        response_class = messages.response_class(request.api_key)
        empty: dict[str, list[Any]] = {_RESULTS[request.api_key]: []}
        version = context.api_version
        return request.response(merge(response_class(version=version, throttle_time_ms=0, **empty)))
    return request.send_rest(message, merge)


_RESULTS = {
    ApiKey.CREATE_TOPICS: "topics",
    ApiKey.DELETE_TOPICS: "responses",
    ApiKey.CREATE_PARTITIONS: "results",
}


def _refused_topic(version: int, key: _Key, refusal: Refusal) -> Any:
    return _CREATE.CreatableTopicResult(
        version=version,
        name=str(key),
        topic_id=NO_ID,
        error_code=refusal.error_code,
        error_message=refusal.error_message,
        num_partitions=-1,
        replication_factor=-1,
        configs=[],
    )


def _refused_deletion(version: int, key: _Key, refusal: Refusal) -> Any:
    return _DELETE.DeletableTopicResult(
        version=version,
        name=None if isinstance(key, UUID) else key,
        topic_id=key if isinstance(key, UUID) else NO_ID,
        error_code=refusal.error_code,
        error_message=refusal.error_message,
    )


def _refused_growth(version: int, key: _Key, refusal: Refusal) -> Any:
    return messages.CreatePartitionsResponse.CreatePartitionsTopicResult(
        version=version,
        name=str(key),
        error_code=refusal.error_code,
        error_message=refusal.error_message,
    )
