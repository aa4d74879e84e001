"""A producer's settings, named and defaulted as in Kafka's `ProducerConfig`, and KIP-91's rule."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from client.errors import ClientError
from protocol.records import COMPRESSION_NAMES

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
SEQUENCE_WINDOW_MAX = 2**30
"""Half of the sequence numbers: beyond it old and new ones look the same (KIP-758)."""

DELIVERY_TIMEOUT_MS = 120_000
IN_FLIGHT_REQUESTS = 5
"""The number of batches that Kafka deduplicates (KIP-98); the limit without KIP-758's window."""

RANGES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "batch_size": (0, INT_MAX),
        "buffer_memory": (0, LONG_MAX),
        "connection_setup_timeout_ms": (0, LONG_MAX),
        "delivery_timeout_ms": (0, INT_MAX),
        "linger_ms": (0, LONG_MAX),
        "max_block_ms": (0, LONG_MAX),
        "max_in_flight_requests_per_connection": (1, INT_MAX),
        "max_in_flight_sequence_number_per_connection": (1, SEQUENCE_WINDOW_MAX),
        "max_request_size": (0, INT_MAX),
        "metadata_max_age_ms": (0, LONG_MAX),
        "reconnect_backoff_max_ms": (0, LONG_MAX),
        "reconnect_backoff_ms": (0, LONG_MAX),
        "request_timeout_ms": (0, INT_MAX),
        "retries": (0, INT_MAX),
        "retry_backoff_max_ms": (0, LONG_MAX),
        "retry_backoff_ms": (0, LONG_MAX),
        "transaction_timeout_ms": (1, INT_MAX),
    }
)
"""Smallest and largest value of each number, as the types and validators in `ProducerConfig` of
kafka-clients 4.1.0 have it. Three are not from there: Kafka checks no connection setup timeout, its
brokers refuse a transaction timeout below 1, and the range of sequence numbers is KIP-758's."""

_UNSET_IS_ALLOWED = {
    "delivery_timeout_ms",
    "max_in_flight_requests_per_connection",
    "max_in_flight_sequence_number_per_connection",
}


class ConfigurationError(ClientError):
    """A setting out of its range, or settings that contradict each other."""


def delivery_timeout_in_force(
    delivery_timeout_ms: int | None, linger_ms: int, request_timeout_ms: int
) -> int:
    """Return KIP-91's timeout, which must leave time for lingering and one request.

    If it is not set, it is raised to that sum if necessary, with a warning. The sum is at most
    2^31 - 1.

    Raises:
        ConfigurationError: it was set to less than the sum.
    """
    least_ms = min(linger_ms + request_timeout_ms, INT_MAX)
    if delivery_timeout_ms is None:
        if least_ms > DELIVERY_TIMEOUT_MS:
            warnings.warn(
                f"delivery_timeout_ms is raised from {DELIVERY_TIMEOUT_MS} to {least_ms}, the sum"
                " of linger_ms and request_timeout_ms",
                stacklevel=4,
            )
        return max(DELIVERY_TIMEOUT_MS, least_ms)
    if delivery_timeout_ms < least_ms:
        raise ConfigurationError(
            f"delivery_timeout_ms={delivery_timeout_ms} is less than linger_ms +"
            f" request_timeout_ms = {least_ms}"
        )
    return delivery_timeout_ms


def check_range(name: str, value: object, smallest: int, largest: int) -> None:
    """Raise a ConfigurationError unless the value is a whole number in its range."""
    if value is None and name in _UNSET_IS_ALLOWED:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not smallest <= value <= largest:
        raise ConfigurationError(
            f"{name}={value!r} is not a whole number from {smallest} to {largest}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """Times in ms, sizes in bytes.

    `max_in_flight_requests_per_connection` None means five, or no limit if the broker has KIP-758's
    window. An idempotent producer never uses more than five without a window.

    `max_in_flight_sequence_number_per_connection` bounds how many sequence numbers of a partition
    an idempotent producer has in flight (KIP-758). The smaller of it and the broker's window
    applies; None leaves it to the broker.

    With a `transactional_id` all records are sent in transactions. The coordinator aborts one that
    is older than `transaction_timeout_ms`.

    Raises:
        ConfigurationError: a value is out of its range (`RANGES`), or two contradict each other.
    """

    acks: int = -1
    batch_size: int = 16_384
    buffer_memory: int = 32 * 1024 * 1024
    compression_type: str = "none"
    connection_setup_timeout_ms: int = 10_000
    delivery_timeout_ms: int | None = None
    enable_idempotence: bool = True
    linger_ms: int = 0
    max_block_ms: int = 60_000
    max_in_flight_requests_per_connection: int | None = None
    max_in_flight_sequence_number_per_connection: int | None = None
    max_request_size: int = 1024 * 1024
    metadata_max_age_ms: int = 300_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    request_timeout_ms: int = 30_000
    retries: int = INT_MAX
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    transaction_timeout_ms: int = 60_000
    transactional_id: str | None = None
    delivery_deadline_ms: int = field(init=False)
    """`delivery_timeout_ms` as it is in force."""

    def __post_init__(self) -> None:
        for name, (smallest, largest) in RANGES.items():
            check_range(name, getattr(self, name), smallest, largest)
        if self.acks not in {-1, 0, 1}:
            raise ConfigurationError(f"acks={self.acks}: -1, 0 or 1")
        if self.enable_idempotence and self.acks != -1:
            raise ConfigurationError("an idempotent producer needs acks=-1")
        if self.transactional_id == "":
            raise ConfigurationError("transactional_id is empty")
        if self.transactional_id is not None and not self.enable_idempotence:
            raise ConfigurationError("a transactional producer needs enable_idempotence")
        if self.compression_type not in COMPRESSION_NAMES:
            raise ConfigurationError(
                f"compression_type={self.compression_type}: one of {', '.join(COMPRESSION_NAMES)}"
            )
        object.__setattr__(
            self,
            "delivery_deadline_ms",
            delivery_timeout_in_force(
                self.delivery_timeout_ms, self.linger_ms, self.request_timeout_ms
            ),
        )

    def in_flight_max(self, window: int | None) -> int:
        """Return the maximum of Produce requests in flight on one connection.

        Args:
            window: the broker's window (KIP-758); None if it sent none.
        """
        configured = self.max_in_flight_requests_per_connection
        if self.enable_idempotence and window is None:
            return min(configured or IN_FLIGHT_REQUESTS, IN_FLIGHT_REQUESTS)
        if configured is None:
            return INT_MAX if window is not None else IN_FLIGHT_REQUESTS
        return configured
