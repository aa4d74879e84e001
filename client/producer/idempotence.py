"""The sequence numbers of an idempotent producer: who has which, and what to do about gaps.

Kafka's `TransactionManager` without transactions (KIP-98, KIP-360), and KIP-758's window. A gap is
closed by the next epoch, in which a partition counts from 0 again (no broker is asked for it).

One rule is stricter than Kafka's. After a gap, batches that were sent are numbered anew only if all
their requests were answered. One with a lost response may still reach the broker late, from a
connection given up long ago, and would then be stored twice; it fails instead.
"""

from client.producer.batch import NO_SEQUENCE, SEQUENCE_MODULUS, Batch, TopicPartition

EPOCH_MAX = 2**15 - 1


class PartitionSequences:
    """One partition's numbers under one producer id and epoch."""

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
        """Batches with numbers whose fate at the broker isn't known yet, in sequence order."""
        self.restart(producer_id, epoch)

    def restart(self, producer_id: int, epoch: int) -> None:
        """Count from 0 under this id and epoch; undecided batches are numbered anew."""
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
        """Give a batch the next numbers."""
        batch.producer_id, batch.producer_epoch = self.producer_id, self.epoch
        batch.base_sequence = self.next_sequence
        self.next_sequence = batch.end_sequence
        self.undecided.append(batch)

    @property
    def in_flight_count(self) -> int:
        """How many numbers lie between the oldest undecided one and the next to be given."""
        if not self.undecided:
            return 0
        return (self.next_sequence - self.undecided[0].base_sequence) % SEQUENCE_MODULUS

    def ack(self, batch: Batch) -> None:
        """The broker has the batch."""
        self.is_begun = True
        self.undecided.remove(batch)
        end = batch.end_sequence
        if (self.next_sequence - end) % SEQUENCE_MODULUS < (
            self.next_sequence - self.acked_end
        ) % SEQUENCE_MODULUS:
            self.acked_end = end

    def give_up(self, batch: Batch) -> None:
        """The batch won't be sent again; its numbers may or may not be at the broker."""
        self.undecided.remove(batch)
        self.is_unresolved = True
        if batch.no_response == 0:
            self.is_gap_certain = True

    def replace(self, batch: Batch, parts: list[Batch]) -> None:
        """The batch goes on as parts that share its numbers."""
        position = self.undecided.index(batch)
        self.undecided[position : position + 1] = parts

    @property
    def needs_restart(self) -> bool:
        """Whether nothing goes on without a new epoch."""
        if self.is_gap_certain:
            return True
        return self.is_unresolved and not self.undecided and self.acked_end != self.next_sequence

    def settle(self) -> None:
        """Forget about a gap that turned out to be none: what followed was stored."""
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
        """Whether a broker has given the id."""
        return self.producer_id >= 0

    def granted(self, producer_id: int, epoch: int, window: int | None) -> None:
        """A broker's answer to InitProducerId; `window` None when it told none."""
        self.producer_id, self.epoch, self.broker_window = producer_id, epoch, window
        bounds = [each for each in (self._window_max, window) if each is not None]
        self.window = min(bounds, default=None)

    def of(self, batch: Batch) -> PartitionSequences | None:
        """The sequences of a batch's partition if it has numbers, else None."""
        if batch.base_sequence == NO_SEQUENCE:
            return None
        return self._partitions[batch.partition]

    def may_send(self, batch: Batch) -> bool:
        """Whether this batch may go next, as the oldest of its partition that isn't on the wire.

        A retry waits until everything before it is decided. New numbers are given neither while
        older ones are unresolved, nor in a new epoch while there are undecided ones of the old, nor
        beyond the window, counted from the oldest undecided number (KIP-758).

        The first batch of an epoch goes alone. A broker that doesn't know the producer accepts any
        number first (since KIP-360), so if this one were refused and the next one not, its retry
        would be out of order.
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

    def number(self, batch: Batch) -> None:
        """Give numbers to a batch that `may_send`, unless it has them."""
        if batch.has_sequence:
            return
        sequences = self._partitions.get(batch.partition)
        if sequences is None:
            sequences = PartitionSequences(self.producer_id, self.epoch)
            self._partitions[batch.partition] = sequences
        elif (sequences.producer_id, sequences.epoch) != (self.producer_id, self.epoch):
            sequences.restart(self.producer_id, self.epoch)
        sequences.assign(batch)

    def out_of_order(self, batch: Batch) -> None:
        """The broker refused a batch's numbers as not the next.

        Behind undecided ones that is no wonder, and the batch waits for them. As the first of them
        it tells of a gap: one given up was not stored, or the broker has lost something.
        """
        sequences = self._partitions[batch.partition]
        if sequences.undecided[0] is batch:
            sequences.is_gap_certain = True

    def forgotten(self, batch: Batch) -> None:
        """The broker doesn't know the producer any more: only a new epoch can go on."""
        self._partitions[batch.partition].is_gap_certain = True

    def resolve(self) -> list[Batch]:
        """Close gaps that nothing on the wire stands for; returns the batches that must fail.

        Without an epoch left the id is given up, and `is_ready` is False until a new one comes.
        """
        doomed: list[Batch] = []
        before = self.producer_id, self.epoch
        for sequences in self._partitions.values():
            sequences.settle()
            if not sequences.needs_restart or any(each.is_on_wire for each in sequences.undecided):
                continue
            if (sequences.producer_id, sequences.epoch) == before == (self.producer_id, self.epoch):
                self._bump()
            doomed += [each for each in sequences.undecided if each.no_response]
            sequences.undecided = [each for each in sequences.undecided if not each.no_response]
            if self.is_ready:
                sequences.restart(self.producer_id, self.epoch)
            else:
                self._forget_numbers(sequences)
        return doomed

    def _bump(self) -> None:
        if self.epoch == EPOCH_MAX:
            self.producer_id, self.epoch = -1, -1
        else:
            self.epoch += 1

    @staticmethod
    def _forget_numbers(sequences: PartitionSequences) -> None:
        """Undecided batches become like new ones, to be numbered under the next id."""
        for batch in sequences.undecided:
            batch.base_sequence = NO_SEQUENCE
        sequences.undecided = []
        sequences.restart(-1, -1)
