"""A client under byte-rate quotas, without a socket."""

from collections.abc import Iterator
from typing import Any

from broker.cluster.cluster import Cluster
from protocol import messages
from tests.batches import make_batch
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import (
    Client,
    request_frame,
)
from tests.produce_requests import produce_request

# With 11 samples of a second: a burst of 10 seconds' worth is free.
RATE, BURST = 1000, 10_000


def make_client(quotas: str, **overrides: str) -> Client:
    cluster = make_cluster(1, **{"client.quotas": quotas}, **overrides)
    cluster.create_topic("t", [(1,)], {})
    return Client(cluster)


def produce_frame(correlation_id: int, value_bytes: int, acks: int = -1) -> bytes:
    batch = make_batch(b"x" * value_bytes)
    return request_frame(produce_request([(0, batch)], version=8, acks=acks), 8, correlation_id)


def responses(client: Client) -> Iterator[bytes]:
    """The body of each response, after a header without tagged fields."""
    data, position = client.written, 0
    while position < len(data):
        end = position + 4 + int.from_bytes(data[position : position + 4], "big")
        yield data[position + 8 : end]
        position = end


def stored_count(cluster: Cluster) -> int:
    topic = cluster.topics.get("t")
    assert topic is not None
    return topic.partitions[0].log.log_end_offset


def decode_fetch(body: bytes) -> Any:
    return messages.FetchResponse.decode(body, version=11)


def fetch_bytes(client: Client, number: int) -> int:
    """Bytes as a quota counts them: the body and the size field."""
    return len(list(responses(client))[number]) + 4
