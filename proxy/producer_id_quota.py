"""KIP-936 in front of a cluster: Produce requests with producer ids that are new to their user.

Our broker asks the quota last, of batches that passed all other checks. Here it is asked first: a
batch that the cluster refuses has used up some of the quota.
"""

from typing import Any, NamedTuple
from uuid import UUID

from broker.request.producer_id_gate import producer_id_gate
from broker.responses import Close, DispatchResult
from protocol import codec, messages, produce, produce_decoder
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced_elements
from protocol.produce import PartitionResult, TopicResultFields
from protocol.records import BatchHeader
from proxy.follow_up import follow_up
from proxy.quota_request import QuotaRequest

TopicKey = str | UUID
Refused = dict[tuple[TopicKey, int], PartitionResult]


class ProducedPartition(NamedTuple):
    """A partition of the cluster, as far as the quota remembers what was refused for it."""

    topic: TopicKey
    partition_index: int


@may_pause
def handle_produce(request: QuotaRequest) -> DispatchResult:
    """Send on what the quota admits; the other partitions get its error.

    Raises:
        DecodeError: the request is malformed.
    """
    version, body = request.context.api_version, request.body
    decoded = produce_decoder.decode_batches(version, body, 0, len(body))
    acks, topics = decoded[1], decoded[3]
    refused = _refused(request, topics)
    if not refused:
        return request.pass_on()
    has_rest = sum(len(parts) for _, _, parts in topics) > len(refused)
    if acks == 0:
        codes = sorted({ErrorCode(result.error_code).name for result in refused.values()})
        end = Close(f"Produce with acks=0 failed: {', '.join(codes)}")
        return follow_up(request.send(_rest_frame(request, refused)), lambda _: end)
    error_response = _error_response(version, topics, refused)
    if not has_rest:
        return request.response(error_response)

    def merge(response: Any) -> Any:
        return _merged(response, error_response, topics)

    return request.send_rest(_rest(request, refused), merge)


@may_pause
def _refused(request: QuotaRequest, topics: list[produce_decoder.TopicBatches]) -> Refused:
    context = request.context
    gate = producer_id_gate(context, request.cluster)
    refused: Refused = {}
    if gate is None:
        return refused
    for name, topic_id, parts in paced_elements(topics):
        for index, _start, _end, fields in paced_elements(parts):
            if fields is None:
                continue  # the cluster refuses what is not one batch
            header = BatchHeader._make(fields)
            if header.producer_id < 0:
                continue
            key = topic_id or name
            result = gate.refuse(context, ProducedPartition(key, index), header)
            if result is not None:
                refused[key, index] = result
    return refused


def _rest_frame(request: QuotaRequest, refused: Refused) -> bytes:
    rest = _rest(request, refused)
    return request.head + codec.encode_message(rest, request.context.api_version)


@may_pause
def _rest(request: QuotaRequest, refused: Refused) -> "messages.ProduceRequest":
    """Return the request without the partitions that are refused."""
    rest = request.decoded()
    for topic in paced_elements(rest.topic_data):
        key = topic.topic_id or topic.name
        topic.partition_data = [
            part
            for part in paced_elements(topic.partition_data)
            if (key, part.index) not in refused
        ]
    rest.topic_data = [topic for topic in rest.topic_data if topic.partition_data]
    return rest  # type: ignore[no-any-return]


@may_pause
def _error_response(
    version: int, topics: list[produce_decoder.TopicBatches], refused: Refused
) -> "messages.ProduceResponse":
    results: list[TopicResultFields] = []
    for name, topic_id, parts in paced_elements(topics):
        key = topic_id or name
        found = [refused[key, part[0]] for part in parts if (key, part[0]) in refused]
        if found:
            results.append((name, topic_id, list(found)))
    body = produce.encode_response(version, results)
    response_class = messages.response_class(ApiKey.PRODUCE)
    return codec.decode_body(response_class, version, memoryview(body))  # type: ignore[no-any-return]


@may_pause
def _merged(
    response: Any, errors: Any, topics: list[produce_decoder.TopicBatches]
) -> "messages.ProduceResponse":
    """Return a response with the partitions of two, in the order of the request."""
    parts = {
        (topic.topic_id or topic.name, part.index): part
        for found in (errors, response)
        for topic in paced_elements(found.responses)
        for part in topic.partition_responses
    }
    by_key = {
        topic.topic_id or topic.name: topic
        for found in (errors, response)
        for topic in paced_elements(found.responses)
    }
    merged = []
    for name, topic_id, requested in paced_elements(topics):
        key = topic_id or name
        topic = by_key.pop(key, None)
        if topic is not None:
            indexes = dict.fromkeys(part[0] for part in requested)
            topic.partition_responses = [parts[key, i] for i in indexes if (key, i) in parts]
            merged.append(topic)
    response.responses = merged
    return response  # type: ignore[no-any-return]
