"""The sequence numbers of an idempotent producer, and how it closes gaps.

Kafka's `TransactionManager` without transactions (KIP-98, KIP-360), and KIP-758's window. A gap is
closed by the next epoch, in which a partition counts from 0 again (without a request). A
transactional producer gets its next epoch from the coordinator instead (`transactions`).

One rule is stricter than Kafka's. After a gap, a batch that was sent gets new numbers only if all
its requests got a response. A request without one may still reach the broker late, over an old
connection, and the batch would then be stored twice; so the batch fails.
"""

from client.producer.batch import NO_SEQUENCE, SEQUENCE_MODULUS, Batch, TopicPartition

EPOCH_MAX = 2**15 - 1


class PartitionSequences:
    """The sequence numbers of one partition under one producer id and epoch."""

    __slots__ = (
        "acked_end",
        "epoch",
        "is_begun",
        "is_gap_certain",
        "is_unresolved",
        "next_sequence",
        "producer_id",
        "undecided",
    )

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.undecided: list[Batch] = []
        """Batches with numbers and without a final outcome, in sequence order."""
        self.restart(producer_id, epoch)

    def restart(self, producer_id: int, epoch: int) -> None:
        """Count from 0 under this id and epoch, and assign new numbers to undecided batches."""
        self.producer_id = producer_id
        self.epoch = epoch
        self.next_sequence = 0
        self.acked_end = 0
        self.is_begun = False
        self.is_unresolved = False
        self.is_gap_certain = False
        undecided, self.undecided = self.undecided, []
        for batch in undecided:
            self.assign(batch)

    def assign(self, batch: Batch) -> None:
        """Assign the next numbers to a batch."""
        batch.producer_id, batch.producer_epoch = self.producer_id, self.epoch
        batch.base_sequence = self.next_sequence
        self.next_sequence = batch.end_sequence
        self.undecided.append(batch)

    @property
    def in_flight_count(self) -> int:
        """Count of numbers from the oldest undecided one to the last assigned."""
        if not self.undecided:
            return 0
        return (self.next_sequence - self.undecided[0].base_sequence) % SEQUENCE_MODULUS

    def ack(self, batch: Batch) -> None:
        """Note that the broker has the batch."""
        self.is_begun = True
        self.undecided.remove(batch)
        end = batch.end_sequence
        if (self.next_sequence - end) % SEQUENCE_MODULUS < (
            self.next_sequence - self.acked_end
        ) % SEQUENCE_MODULUS:
            self.acked_end = end

    def give_up(self, batch: Batch) -> None:
        """Note that the batch won't be sent again; the broker may or may not have it."""
        self.undecided.remove(batch)
        self.is_unresolved = True
        if batch.no_response == 0:
            self.is_gap_certain = True

    def replace(self, batch: Batch, parts: list[Batch]) -> None:
        """Replace a batch by parts that share its numbers."""
        position = self.undecided.index(batch)
        self.undecided[position : position + 1] = parts

    @property
    def needs_restart(self) -> bool:
        """Whether the partition needs a new epoch to continue."""
        if self.is_gap_certain:
            return True
        return self.is_unresolved and not self.undecided and self.acked_end != self.next_sequence

    def settle(self) -> None:
        """Clear a suspected gap if all later batches were stored."""
        if self.is_unresolved and not self.undecided and self.acked_end == self.next_sequence:
            self.is_unresolved = False


class Idempotence:
    """The producer's id and epoch, and the sequences of its partitions.

    `window` is how many numbers of a partition may be in flight (None: no bound), the smaller of
    the producer's own `window_max` and of `broker_window`.
    """

    def __init__(self, window_max: int | None = None) -> None:
        self.producer_id = -1
        self.epoch = -1
        self.window = self._window_max = window_max
        self.broker_window: int | None = None
        self._partitions: dict[TopicPartition, PartitionSequences] = {}

    @property
    def is_ready(self) -> bool:
        """Whether the producer has an id."""
        return self.producer_id >= 0

    def on_producer_id(self, producer_id: int, epoch: int, window: int | None) -> None:
        """Take the producer id of an InitProducerId response; `window` None if it had none."""
        self.producer_id, self.epoch, self.broker_window = producer_id, epoch, window
        bounds = [bound for bound in (self._window_max, window) if bound is not None]
        self.window = min(bounds, default=None)

    def on_next_epoch(self, producer_id: int, epoch: int) -> None:
        """Take the id and epoch for the next transaction from an EndTxn response (KIP-890)."""
        self.producer_id, self.epoch = producer_id, epoch
        self.forget_partitions()

    def forget_partitions(self) -> None:
        """Count from 0 in all partitions, since all batches of the last epoch are decided."""
        self._partitions.clear()

    def of(self, batch: Batch) -> PartitionSequences | None:
        """Return the sequences of a batch's partition, or None for a batch without numbers."""
        if batch.base_sequence == NO_SEQUENCE:
            return None
        return self._partitions[batch.partition]

    def may_send(self, batch: Batch) -> bool:
        """Return whether the oldest batch of a partition that isn't in flight may be sent.

        A retry waits until all batches before it are decided. New numbers are not assigned while
        older ones are unresolved, nor in a new epoch while batches of the old one are undecided,
        nor beyond the window, counted from the oldest undecided number (KIP-758).

        The first batch of an epoch is sent alone. A broker that doesn't know the producer accepts
        any first number (KIP-360). If it refused this batch and accepted the next, a retry would be
        out of order.
        """
        if not self.is_ready:
            return False
        sequences = self._partitions.get(batch.partition)
        if sequences is None:
            return True
        if batch.has_sequence:
            return not sequences.is_gap_certain and sequences.undecided[0] is batch
        if sequences.is_unresolved or sequences.is_gap_certain:
            return False
        if not sequences.undecided:
            return True
        is_current = (sequences.producer_id, sequences.epoch) == (self.producer_id, self.epoch)
        return (is_current and sequences.is_begun) and (
            self.window is None or sequences.in_flight_count + batch.record_count <= self.window
        )

    def assign_sequence(self, batch: Batch) -> None:
        """Assign numbers to a batch that `may_send`, unless it has them."""
        if batch.has_sequence:
            return
        sequences = self._partitions.get(batch.partition)
        if sequences is None:
            sequences = PartitionSequences(self.producer_id, self.epoch)
            self._partitions[batch.partition] = sequences
        elif (sequences.producer_id, sequences.epoch) != (self.producer_id, self.epoch):
            sequences.restart(self.producer_id, self.epoch)
        sequences.assign(batch)

    def on_out_of_order(self, batch: Batch) -> None:
        """Handle OUT_OF_ORDER_SEQUENCE_NUMBER.

        A batch behind undecided ones waits for them. For the first of them it means a gap: a batch
        that was given up was not stored, or the broker lost data.
        """
        sequences = self._partitions[batch.partition]
        if sequences.undecided[0] is batch:
            sequences.is_gap_certain = True

    def on_unknown_producer_id(self, batch: Batch) -> None:
        """Handle UNKNOWN_PRODUCER_ID: only a new epoch can continue."""
        self._partitions[batch.partition].is_gap_certain = True

    def resolve(self) -> list[Batch]:
        """Close gaps of partitions with nothing in flight; return the batches that must fail.

        After the last epoch the id is dropped, and `is_ready` is False until there is a new one.
        """
        failed: list[Batch] = []
        before = self.producer_id, self.epoch
        for sequences in self._partitions.values():
            sequences.settle()
            if not sequences.needs_restart or any(
                undecided.is_on_wire for undecided in sequences.undecided
            ):
                continue
            if (sequences.producer_id, sequences.epoch) == before == (self.producer_id, self.epoch):
                self._bump()
            failed += [undecided for undecided in sequences.undecided if undecided.no_response]
            sequences.undecided = [
                undecided for undecided in sequences.undecided if not undecided.no_response
            ]
            if self.is_ready:
                sequences.restart(self.producer_id, self.epoch)
            else:
                self._forget_numbers(sequences)
        return failed

    def _bump(self) -> None:
        if self.epoch == EPOCH_MAX:
            self.producer_id, self.epoch = -1, -1
        else:
            self.epoch += 1

    @staticmethod
    def _forget_numbers(sequences: PartitionSequences) -> None:
        """Remove the numbers of undecided batches; they get new ones under the next id."""
        for batch in sequences.undecided:
            batch.base_sequence = NO_SEQUENCE
        sequences.undecided = []
        sequences.restart(-1, -1)
