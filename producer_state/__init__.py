"""The state of idempotent producers per partition (KIP-98, KIP-360, KIP-758).

Integers in, decisions out: no sockets, no clock, no messages, no side effect on import. One
`ProducerStateManager` for each partition: `check` a batch, append it if that is the decision, then
`apply` it.

    >>> from producer_state import APPEND, ProducerStateManager
    >>> producers = ProducerStateManager(batches=1, window=10_000_000)
    >>> batch = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "last_offset_delta": 9}
    >>> producers.check(**batch) is APPEND
    True
    >>> producers.apply(**batch, base_offset=100, timestamp_ms=1_700_000_000_000)
    >>> again = producers.check(**batch)
    >>> again.error_code.name, again.base_offset
    ('DUPLICATE_SEQUENCE_NUMBER', 100)
    >>> producers.check(**{**batch, "base_sequence": 11}).error_code.name
    'OUT_OF_ORDER_SEQUENCE_NUMBER'

`decide` is the rule alone, for an `Entry` that the caller keeps. `ProducerIdAllocator` allocates
producer ids in blocks per broker.
"""

from producer_state.allocator import ProducerIdAllocator
from producer_state.counts import Counts, count
from producer_state.producer_state_manager import ProducerStateManager
from producer_state.rules import (
    APPEND,
    SEQUENCE_MAX,
    WINDOW_MAX,
    Append,
    Batch,
    Decision,
    Duplicate,
    Entry,
    ProducerDescription,
    Refused,
    RuleSet,
    decide,
    sequence_after,
)

__all__ = [
    "APPEND",
    "SEQUENCE_MAX",
    "WINDOW_MAX",
    "Append",
    "Batch",
    "Counts",
    "Decision",
    "Duplicate",
    "Entry",
    "ProducerDescription",
    "ProducerIdAllocator",
    "ProducerStateManager",
    "Refused",
    "RuleSet",
    "count",
    "decide",
    "sequence_after",
]
