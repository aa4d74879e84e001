"""A cluster with a journal, and a Produce request for it."""

import broker.handlers  # noqa: F401 - registers every API
from broker.cluster.cluster import Cluster
from protocol import messages
from tests.batches import make_batch
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import request_frame


def journalled_cluster(**overrides: str) -> Cluster:
    return make_cluster(1, **{"journal.enable": "true"}, **overrides)


def produce_frame(topic: str, correlation_id: int = 1, acks: int = -1) -> bytes:
    topic_class = messages.ProduceRequest.TopicProduceData
    part = topic_class.PartitionProduceData(version=9, index=0, records=make_batch(b"x"))
    request = messages.ProduceRequest(
        version=9,
        acks=acks,
        timeout_ms=1000,
        topic_data=[topic_class(version=9, name=topic, partition_data=[part])],
    )
    return request_frame(request, 9, correlation_id)
