"""Requests that quotas are about, and a broker and a proxy that have the same quota."""

from typing import Any

from protocol import messages
from tests.batches import make_batch
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import Client, request_frame
from tests.produce_requests import produce_request
from tests.proxy.proxied_client import ProxiedClient

IDS = "user=<default>,producer_ids_rate=2"
MUTATIONS = "user=<default>,controller_mutation_rate=5"
HOUR_MS = 3_600_000
_Creatable = messages.CreateTopicsRequest.CreatableTopic


def create(*topics: tuple[str, int], version: int = 7, validate_only: bool = False) -> Any:
    return messages.CreateTopicsRequest(
        version=version,
        topics=[
            _Creatable(
                name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[]
            )
            for name, count in topics
        ],
        timeout_ms=1000,
        validate_only=validate_only,
    )


def delete(*names: str, version: int = 6) -> Any:
    if version < 6:
        return messages.DeleteTopicsRequest(
            version=version, topic_names=list(names), timeout_ms=1000
        )
    topic = messages.DeleteTopicsRequest.DeleteTopicState
    return messages.DeleteTopicsRequest(
        version=version,
        topics=[topic(version=version, name=name, topic_id=None) for name in names],
        timeout_ms=1000,
    )


def grow(name: str, count: int, version: int = 3) -> Any:
    topic = messages.CreatePartitionsRequest.CreatePartitionsTopic
    return messages.CreatePartitionsRequest(
        version=version,
        topics=[topic(version=version, name=name, count=count, assignments=None)],
        timeout_ms=1000,
        validate_only=False,
    )


def produce(*parts: tuple[int, int, int], acks: int = -1) -> Any:
    """A batch for each (partition, producer id, base sequence); -1 is for no producer id."""
    batches = [
        (
            index,
            make_batch(
                b"x",
                producer_id=producer_id,
                producer_epoch=0 if producer_id >= 0 else -1,
                base_sequence=sequence if producer_id >= 0 else -1,
            ),
        )
        for index, producer_id, sequence in parts
    ]
    return produce_request(batches, version=9, acks=acks)


def codes(response: Any) -> list[int]:
    (topic,) = response.responses
    return [part.error_code for part in topic.partition_responses]


class Both:
    """A broker with a quota, and a proxy with it in front of a broker that has none."""

    def __init__(self, quotas: str) -> None:
        self.own = Client(make_cluster(1, **{"client.quotas": quotas}))
        self.proxied = ProxiedClient(**{"client.quotas": quotas})
        for cluster in (self.own.cluster, self.proxied.cluster):
            cluster.create_topic("t", [(1,)] * 3, {})

    def ask(self, request: Any, version: int, after_ms: int = 0) -> tuple[Any, Any]:
        """Send a request to both, once neither is muted; return the responses of both."""
        muted_until_ms = self.own.connection.muted_until_ms
        self.proxied.now_ms = now_ms = max(self.proxied.now_ms + after_ms, muted_until_ms)
        self.own.settle(now_ms)
        self.proxied.client.settle(now_ms)
        self.own.written = b""
        self.own.send(request_frame(request, version, 7), now_ms)
        proxied = self.proxied.send(request, version)
        assert self.own.connection.muted_until_ms == self.proxied.client.connection.muted_until_ms
        return self.own.written, proxied
