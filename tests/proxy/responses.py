"""Responses with the addresses of brokers, in every version that has some."""

from typing import Any
from uuid import UUID

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_response
from protocol.messages import schema_versions
from proxy.rewritten_response import ADDRESS_APIS, has_addresses

TOPIC_ID = UUID(int=7)
RECORDS = bytes(range(256)) * 4
CORRELATION_ID = 5
VERSIONS = [
    (key, version)
    for key in sorted(ADDRESS_APIS)
    for version in range(schema_versions(key)[0], schema_versions(key)[1] + 1)
    if has_addresses(key, version)
]


def endpoints(message: Any) -> list[Any]:
    made = message.NodeEndpoint
    return [
        made(node_id=1, host="one", port=9092, rack=None),
        made(node_id=2, host="a-host-with-a-longer-name", port=9093, rack="r"),
    ]


def metadata() -> Any:
    made = messages.MetadataResponse
    return made(
        brokers=[
            made.MetadataResponseBroker(node_id=1, host="one", port=9092, rack=None),
            made.MetadataResponseBroker(node_id=2, host="two", port=9093, rack="r"),
        ],
        cluster_id="cluster",
        controller_id=1,
        topics=[
            made.MetadataResponseTopic(
                error_code=0,
                name="orders",
                topic_id=TOPIC_ID,
                is_internal=False,
                partitions=[
                    made.MetadataResponseTopic.MetadataResponsePartition(
                        error_code=0,
                        partition_index=0,
                        leader_id=1,
                        leader_epoch=3,
                        replica_nodes=[1, 2],
                        isr_nodes=[1],
                        offline_replicas=[2],
                    )
                ],
            )
        ],
    )


def find_coordinator() -> Any:
    made = messages.FindCoordinatorResponse
    found: dict[str, Any] = {
        "node_id": 1,
        "host": "one",
        "port": 9092,
        "error_code": 0,
        "error_message": None,
    }
    return made(**found, coordinators=[made.Coordinator(key="group", **found)])


def describe_cluster() -> Any:
    made = messages.DescribeClusterResponse
    return made(
        error_code=0,
        error_message=None,
        endpoint_type=1,
        cluster_id="cluster",
        controller_id=1,
        brokers=[
            made.DescribeClusterBroker(broker_id=1, host="one", port=9092, rack="r"),
            made.DescribeClusterBroker(broker_id=2, host="two", port=9093, rack=None),
        ],
    )


def produce() -> Any:
    made = messages.ProduceResponse
    topic = made.TopicProduceResponse
    partition = topic.PartitionProduceResponse(
        index=0,
        error_code=6,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=0,
        record_errors=[],
        error_message="moved",
        current_leader=topic.PartitionProduceResponse.LeaderIdAndEpoch(leader_id=2, leader_epoch=4),
    )
    return made(
        responses=[topic(name="orders", topic_id=TOPIC_ID, partition_responses=[partition])],
        throttle_time_ms=3,
        node_endpoints=endpoints(made),
    )


def fetch() -> Any:
    made = messages.FetchResponse
    topic = made.FetchableTopicResponse
    partitions = [
        topic.PartitionData(
            partition_index=index,
            error_code=error_code,
            high_watermark=1,
            last_stable_offset=1,
            log_start_offset=0,
            aborted_transactions=None,
            preferred_read_replica=-1,
            records=records,
        )
        for index, error_code, records in ((0, 0, RECORDS), (1, 6, b""))
    ]
    return made(
        throttle_time_ms=0,
        error_code=0,
        session_id=9,
        responses=[topic(topic="orders", topic_id=TOPIC_ID, partitions=partitions)],
        node_endpoints=endpoints(made),
    )


def share_fetch() -> Any:
    made = messages.ShareFetchResponse
    part = made.ShareFetchableTopicResponse.PartitionData
    return shared(
        made,
        made.ShareFetchableTopicResponse,
        acknowledge_error_code=0,
        acknowledge_error_message=None,
        records=RECORDS,
        acquired_records=[part.AcquiredRecords(first_offset=0, last_offset=1, delivery_count=1)],
    )


def share_acknowledge() -> Any:
    made = messages.ShareAcknowledgeResponse
    return shared(made, made.ShareAcknowledgeTopicResponse)


def shared(made: Any, topic: Any, **fields: Any) -> Any:
    """Return a response with one partition, which has these fields beside those of both APIs."""
    part = topic.PartitionData
    partition = part(
        partition_index=0,
        error_code=0,
        error_message=None,
        current_leader=part.LeaderIdAndEpoch(leader_id=1, leader_epoch=2),
        **fields,
    )
    return made(
        responses=[topic(topic_id=TOPIC_ID, partitions=[partition])],
        node_endpoints=endpoints(made),
    )


MAKERS = {
    ApiKey.DESCRIBE_CLUSTER: describe_cluster,
    ApiKey.FETCH: fetch,
    ApiKey.FIND_COORDINATOR: find_coordinator,
    ApiKey.METADATA: metadata,
    ApiKey.PRODUCE: produce,
    ApiKey.SHARE_ACKNOWLEDGE: share_acknowledge,
    ApiKey.SHARE_FETCH: share_fetch,
}


def frame_of(api_key: ApiKey, version: int) -> bytes:
    """Return a response frame with its size."""
    return encode_response(CORRELATION_ID, api_key, version, MAKERS[api_key]())


def without_endpoints(api_key: ApiKey, version: int) -> bytes:
    """Return a response of Produce or Fetch that names no leader."""
    message = MAKERS[api_key]()
    message.node_endpoints = []
    return encode_response(CORRELATION_ID, api_key, version, message)
