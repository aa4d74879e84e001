"""The outcome of a record: its offset, or an error."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from client.errors import ApiError, ClientError, error_name

OFFSET_UNKNOWN = -1


class Phase(StrEnum):
    """Where a record was when `delivery_timeout_ms` passed."""

    METADATA = "waiting for metadata"
    NO_LEADER = "no leader"
    CONNECTING = "no connection to the leader"
    PRODUCER_ID = "waiting for a producer id"
    TRANSACTION = "waiting to be added to the transaction"
    QUEUED = "queued behind a full window"
    IN_FLIGHT = "in flight"
    BACKOFF = "backoff"
    THROTTLED = "throttled"


class Delivered(NamedTuple):
    """The broker has the record.

    `offset` is OFFSET_UNKNOWN (-1) with acks=0, and for a duplicate whose offset the broker no
    longer knows (KIP-758). `timestamp_ms` is the record's, or the broker's with LogAppendTime.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int

    @property
    def has_offset(self) -> bool:
        """Whether the offset is known."""
        return self.offset != OFFSET_UNKNOWN


class DeliveryTimeoutError(ClientError):
    """`delivery_timeout_ms` passed (KIP-91); `phase` is where the record was then.

    `is_possibly_stored` is False only if the broker can't have it: it was never sent, or every
    request was refused. `last_error` is the error of the latest attempt.
    """

    def __init__(
        self,
        topic: str,
        partition: int | None,
        phase: Phase,
        elapsed_ms: int,
        *,
        attempts: int = 0,
        is_possibly_stored: bool = False,
        last_error: str | None = None,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.phase = phase
        self.elapsed_ms = elapsed_ms
        self.attempts = attempts
        self.is_possibly_stored = is_possibly_stored
        self.last_error = last_error
        place = topic if partition is None else f"{topic}-{partition}"
        reason = f", last error {last_error}" if last_error else ""
        super().__init__(
            f"{place}: not delivered after {elapsed_ms} ms, phase: {phase}"
            f" ({attempts} attempts{reason})"
        )


class DeliveryRefusedError(ApiError):
    """A broker's error that is not retriable, or that came more than `retries` times."""

    def __init__(
        self,
        topic: str,
        partition: int | None,
        error_code: int,
        message: str | None = None,
        *,
        attempts: int = 0,
        is_possibly_stored: bool = False,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.attempts = attempts
        self.is_possibly_stored = is_possibly_stored
        place = topic if partition is None else f"{topic}-{partition}"
        super().__init__(error_code, f"{place}: {message or error_name(error_code)}")


class RecordTooLargeError(ClientError):
    """One record is larger than `max_request_size` or `buffer_memory`."""


class BufferFullError(ClientError):
    """`buffer_memory` has no room for the record now."""


class ProducerClosedError(ClientError):
    """The producer was closed before the record was delivered, or before it was sent."""


DeliveryOutcome = Delivered | ClientError


class Delivery:
    """The outcome of one record; it is set once."""

    __slots__ = ("_callback", "outcome")

    def __init__(self, callback: Callable[[DeliveryOutcome], None] | None = None) -> None:
        """`callback` is called with the outcome, from within the core."""
        self._callback = callback
        self.outcome: DeliveryOutcome | None = None

    def resolve(self, outcome: DeliveryOutcome) -> None:
        """Set the outcome and call the callback."""
        assert self.outcome is None, "a record is resolved once"
        self.outcome = outcome
        if self._callback is not None:
            self._callback(outcome)
