"""Read the timestamps of many batches, in turns with other requests."""

from array import array
from collections.abc import Iterator

from protocol.pacing import may_pause, paced, paced_range
from protocol.records import max_timestamp

_BATCHES_PER_STEP = 64
"""Batches whose timestamps are read between two looks at the time."""
_COMPARED_TOGETHER = 1024
"""Timestamps that are compared between two looks at the time."""


@may_pause
def timestamps(batches: list[bytes]) -> Iterator[int]:
    """Yield the largest timestamp of each batch; a request that takes turns may pause."""
    for step in paced_range(-(-len(batches) // _BATCHES_PER_STEP)):
        first = step * _BATCHES_PER_STEP
        yield from map(max_timestamp, batches[first : first + _BATCHES_PER_STEP])


@may_pause
def first_latest(batches: list[bytes]) -> bytes | None:
    """Return the first batch with the largest timestamp; without timestamps the oldest one."""
    if not batches:
        return None
    times = array("q", timestamps(batches))
    index = _index_of_max(times)
    return batches[index if times[index] >= 0 else 0]


@may_pause
def _index_of_max(times: "array[int]") -> int:
    """Return the index of the largest of some timestamps, the first of equal ones."""
    largest, found = times[0], 0
    for start in paced(range(0, len(times), _COMPARED_TOGETHER)):
        part = times[start : start + _COMPARED_TOGETHER]
        if max(part) > largest:
            largest = max(part)
            found = start + part.index(largest)
    return found
