"""Combine the state batches that a share coordinator has with those that a leader writes.

Source: Kafka's `PersisterStateBatchCombiner`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from broker.share_groups.in_flight import StateBatch

NO_OFFSET = -1


def combine_batches(
    stored: Sequence[StateBatch], written: Sequence[StateBatch], start_offset: int
) -> list[StateBatch]:
    """Return batches that do not overlap, ascending, without offsets before `start_offset`.

    Of several states of an offset the one with the larger delivery count wins, then the larger
    state. Batches that follow each other with the same state become one. With a `start_offset` of
    -1 all offsets are kept.
    """
    batches = [*stored, *written]
    if start_offset != NO_OFFSET:
        batches = [
            batch
            if batch.first_offset >= start_offset
            else replace(batch, first_offset=start_offset)
            for batch in batches
            if batch.last_offset >= start_offset
        ]
    if len(batches) < 2:
        return batches
    return _join(_cut(batches))


def _cut(batches: Iterable[StateBatch]) -> Iterable[StateBatch]:
    """Yield batches that do not overlap, cut wherever one of the batches begins or ends."""
    begins: dict[int, list[StateBatch]] = {}
    cuts = set()
    for batch in batches:
        begins.setdefault(batch.first_offset, []).append(batch)
        cuts |= {batch.first_offset, batch.last_offset + 1}
    ordered = sorted(cuts)
    active: list[StateBatch] = []
    for first_offset, next_offset in pairwise(ordered):
        active = [batch for batch in active if batch.last_offset >= first_offset]
        active += begins.get(first_offset, ())
        if active:
            best = max(active, key=lambda batch: (batch.delivery_count, batch.delivery_state))
            yield StateBatch(
                first_offset, next_offset - 1, best.delivery_state, best.delivery_count
            )


def _join(batches: Iterable[StateBatch]) -> list[StateBatch]:
    joined: list[StateBatch] = []
    for batch in batches:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.last_offset + 1 == batch.first_offset
            and last.delivery_state == batch.delivery_state
            and last.delivery_count == batch.delivery_count
        ):
            joined[-1] = replace(last, last_offset=batch.last_offset)
        else:
            joined.append(batch)
    return joined
