"""The marker that ends a transaction in one partition, and the request that takes it there.

Sources: Kafka's `TxnMarkerEntry` and `TransactionMarkerChannelManager`.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from broker.pending_response import PendingResponse

REQUEST_TIMEOUT_MS = 30_000
"""How long a coordinator waits for a response: `request.timeout.ms` of Kafka's brokers."""


class Marker(NamedTuple):
    """The end of a producer's transaction, as it is written to its partitions."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_commit: bool
    transaction_version: int = 0
    """From 2 on the epoch must be newer than that of the transaction (KIP-1228)."""


new_marker: Callable[[tuple[int, int, int, bool, int]], Marker]
new_marker = partial(tuple.__new__, Marker)
"""Make a marker from all its fields, in less time than the class takes."""


class MarkerRequest(NamedTuple):
    """A marker that was sent to the leader of a partition.

    The response is the error code of the partition, or None if the connection was lost.
    """

    marker: Marker
    node_id: int
    sent_ms: int
    pending: PendingResponse


class MarkerSender(Protocol):
    """Sends markers as requests, so that fault rules apply to them."""

    @property
    def is_needed(self) -> bool:
        """Whether a fault rule may fire on a marker."""
        ...

    def send(
        self, node_id: int, topic: str, partition_index: int, marker: Marker, now_ms: int
    ) -> MarkerRequest:
        """Send a marker to a broker."""
        ...
