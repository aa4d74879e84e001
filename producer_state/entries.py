"""The entries of the producers of one partition, to read them."""

from collections.abc import Iterator, Mapping
from itertools import islice

from producer_state.row_layout import Layout, batches_at, epoch_at, floor_at
from producer_state.row_table import RowTable
from producer_state.rules import Entry, ProducerDescription, describe
from producer_state.transactions import TransactionalEntry
from protocol.pacing import may_pause, paced_stream


class ProducerEntries:
    """What is known of each producer of one partition: a row, and more if it is transactional."""

    __slots__ = ("_layout", "_table", "_transactional")

    def __init__(
        self, layout: Layout, table: RowTable, transactional: Mapping[int, TransactionalEntry]
    ) -> None:
        self._layout = layout
        self._table = table
        self._transactional = transactional

    def __len__(self) -> int:
        return len(self._table)

    def entry(self, producer_id: int) -> Entry | None:
        """Return the state of a producer; None if it has none."""
        table = self._table
        position = table.find(producer_id)
        if position < 0:
            return None
        producer_epoch = epoch_at(table, position)
        batches = batches_at(table, position, self._layout)
        floor = floor_at(table, position, self._layout)
        transactional = self._transactional.get(producer_id)
        if transactional is not None:
            return Entry(producer_epoch, batches, floor, *transactional)
        return Entry(producer_epoch, batches, floor, last_timestamp=batches[0].timestamp)

    @may_pause
    def entries(self) -> Iterator[tuple[int, Entry]]:
        """Yield producers with their state by producer id, without those that a pause removes."""
        for known in paced_stream(self._table.sorted_producer_ids()):
            entry = self.entry(known)
            if entry is not None:
                yield known, entry

    @may_pause
    def describe(self, limit: int | None = None) -> list[ProducerDescription]:
        """Return the first producers by producer id; those that a pause removes are left out."""
        return [describe(known, entry) for known, entry in islice(self.entries(), limit)]

    def copied(self) -> "ProducerEntries":
        """Return a copy, to read what is known now after a pause; nothing is decoded."""
        return ProducerEntries(self._layout, self._table.copied(), dict(self._transactional))
