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
from client.producer.transactions import ProducerTransactions
from client.protocol_codec import NO_FEATURES_EPOCH, FinalizedFeatures
from client.resources import Address

TRANSACTION_VERSION = "transaction.version"
"""The feature that decides how transactions begin and end (KIP-890)."""


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
        self.transactions = (
            None
            if settings.transactional_id is None
            else ProducerTransactions(
                settings.transactional_id, settings.transaction_timeout_ms, self.idempotence
            )
        )
        self.features_epoch = NO_FEATURES_EPOCH
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
        """Whether batches wait for a producer id that any broker gives."""
        return (
            self.settings.enable_idempotence
            and self.transactions is None
            and not self.idempotence.is_ready
        )

    @property
    def is_drained(self) -> bool:
        """Whether no record waits, is queued or is on the wire."""
        return not (self.accumulator.queues or self.accumulator.waiting or self.on_wire)

    def on_features(self, features: FinalizedFeatures) -> None:
        """Note the cluster's features; those of an older epoch are ignored."""
        if self.transactions is not None and features.epoch > self.features_epoch:
            self.features_epoch = features.epoch
            self.transactions.broker_version = features.levels.get(TRANSACTION_VERSION, 0)

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
