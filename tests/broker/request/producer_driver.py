"""Producers that request ids and write, without sockets."""

from typing import Any

from broker.cluster.cluster import Cluster
from protocol import messages
from tests.batches import make_batch
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import NOW_MS, Client, request_frame
from tests.produce_requests import produce_request

Batch = tuple[int, int, int]
"""Partition, producer id, base sequence."""


class Producers:
    """A connection of user ANONYMOUS, whose quota is in `quotas`, to one of two brokers."""

    def __init__(
        self,
        quota: str | None = "1",
        cluster: Cluster | None = None,
        overrides: dict[str, str] | None = None,
    ) -> None:
        overrides = overrides or {}
        if quota is not None:
            overrides["client.quotas"] = f"user=<default>,producer_ids_rate={quota}"
        if cluster is None:
            cluster = make_cluster(2, **overrides)
            cluster.create_topic("t", [(1, 2), (1, 2)], {})
        self.cluster = cluster
        self.client = Client(cluster)
        self._read_bytes = 0
        self._count = 0

    def frame(self, *batches: Batch, epoch: int = 0, acks: int = -1) -> bytes:
        self._count += 1
        partitions = [
            (
                index,
                make_batch(
                    b"x",
                    producer_id=producer_id,
                    producer_epoch=epoch if producer_id >= 0 else -1,
                    base_sequence=sequence,
                ),
            )
            for index, producer_id, sequence in batches
        ]
        request = produce_request(partitions, version=8, acks=acks)
        return request_frame(request, 8, self._count)

    def send(self, *batches: Batch, now_ms: int = NOW_MS, epoch: int = 0) -> Any:
        self.client.send(self.frame(*batches, epoch=epoch), now_ms)
        (response,) = self.responses()
        return response

    def responses(self) -> list[Any]:
        """The responses since the last call."""
        found, data = [], self.client.written
        while self._read_bytes < len(data):
            start = self._read_bytes + 4
            end = start + int.from_bytes(data[start - 4 : start], "big")
            found.append(messages.ProduceResponse.decode(data[start + 4 : end], version=8))
            self._read_bytes = end
        return found

    def skip_responses(self) -> None:
        """Skip the responses so far."""
        self._read_bytes = len(self.client.written)

    def codes(self, *batches: Batch, now_ms: int = NOW_MS, epoch: int = 0) -> list[int]:
        return codes(self.send(*batches, now_ms=now_ms, epoch=epoch))

    def set(self, quota: float | None, user: str | None = None) -> None:
        clients = self.cluster.quotas.clients
        assert clients.alter((("user", user),), [("producer_ids_rate", quota)]) is None

    def measured(self, now_ms: int = NOW_MS, broker_id: int = 1) -> dict[str, float]:
        return {
            measurement.name: measurement.value
            for measurement in self.cluster.quotas.metrics.measure(now_ms)
            if measurement.group == "ProducerIds"
            and measurement.tags["broker-id"] == str(broker_id)
        }

    def partition(self, index: int = 0) -> Any:
        topic = self.cluster.topics.get("t")
        assert topic is not None
        return topic.partitions[index]


def codes(response: Any) -> list[int]:
    return [part.error_code for part in response.responses[0].partition_responses]
