"""The state of one producer core, shared by the modules that decide."""

from collections.abc import Callable, Sequence

from client.errors import ClientError
from client.producer.accumulator import RecordAccumulator
from client.producer.backoff import backoff_ms
from client.producer.batch import Batch, TopicPartition
from client.producer.connections import Nodes
from client.producer.idempotence import Idempotence
from client.producer.settings import ProducerSettings
from client.producer.topic_metadata import TopicMetadata
from client.resources import Address


class ProducerState:
    """The state that `expiry`, `sender` and `response_handling` read and change."""

    def __init__(
        self,
        settings: ProducerSettings,
        bootstrap: Sequence[Address],
        random: Callable[[], float],
    ) -> None:
        self.settings = settings
        self.random = random
        self.accumulator = RecordAccumulator(settings, random)
        self.metadata = TopicMetadata(settings.metadata_max_age_ms)
        self.nodes = Nodes(settings, random)
        self.idempotence = Idempotence(settings.max_in_flight_sequence_number_per_connection)
        self.bootstrap = {-1 - index: address for index, address in enumerate(bootstrap)}
        self.on_wire: dict[TopicPartition, list[Batch]] = {}
        """Batches in requests without a response, oldest first."""
        self.polled_ms = 0
        """The time of the last poll."""
        self.is_producer_id_requested = False
        self.producer_id_failures = 0
        self.producer_id_retry_ms = 0

    @property
    def needs_producer_id(self) -> bool:
        """Whether batches wait for a producer id."""
        return self.settings.enable_idempotence and not self.idempotence.is_ready

    @property
    def in_flight_max(self) -> int:
        """Maximum of Produce requests in flight on one connection."""
        return self.settings.in_flight_max(self.idempotence.broker_window)

    def backoff_ms(self, failures: int) -> int:
        """Return the wait before the next attempt, except of a connection."""
        return backoff_ms(
            self.settings.retry_backoff_ms,
            self.settings.retry_backoff_max_ms,
            max(1, failures),
            self.random,
        )

    def off_wire(self, batch: Batch) -> None:
        """Note that the batch's request has its response or was lost."""
        batch.is_on_wire = False
        batches = self.on_wire[batch.partition]
        batches.remove(batch)
        if not batches:
            del self.on_wire[batch.partition]
        if batch.is_done:
            self.accumulator.release(batch.bytes_reserved)

    def fail(self, batch: Batch, error: ClientError) -> None:
        """Fail a batch that is not queued; its memory is released once its request is over."""
        batch.fail(error)
        if not batch.is_on_wire:
            self.accumulator.release(batch.bytes_reserved)
