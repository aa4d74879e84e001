"""A producer's settings, named and defaulted as in Kafka's `ProducerConfig`, and KIP-91's rule."""

import warnings
from dataclasses import dataclass, field

from client.errors import ClientError
from protocol.records import COMPRESSION_NAMES

INT_MAX = 2**31 - 1
DELIVERY_TIMEOUT_MS = 120_000
IN_FLIGHT_REQUESTS = 5
"""How many requests Kafka's brokers keep apart (KIP-98); none more without KIP-758's window."""


class ConfigurationError(ClientError):
    """Settings that contradict themselves or make no sense."""


def delivery_timeout_in_force(
    delivery_timeout_ms: int | None, linger_ms: int, request_timeout_ms: int
) -> int:
    """KIP-91's bound, which must leave room for lingering and one request.

    Unset it grows to that sum, with a warning when it had to. Sums above 2^31 - 1 count as that.

    Raises:
        ConfigurationError: it was set, to less than the sum.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """Times in ms, sizes in bytes.

    `max_in_flight_requests_per_connection` None means five, or as many as KIP-758's window lets
    when the broker tells one. An idempotent producer never uses more than five without a window.
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
    max_request_size: int = 1024 * 1024
    metadata_max_age_ms: int = 300_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    request_timeout_ms: int = 30_000
    retries: int = INT_MAX
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    delivery_deadline_ms: int = field(init=False)
    """`delivery_timeout_ms` as it is in force."""

    def __post_init__(self) -> None:
        if self.acks not in {-1, 0, 1}:
            raise ConfigurationError(f"acks={self.acks}: -1, 0 or 1")
        if self.enable_idempotence and self.acks != -1:
            raise ConfigurationError("an idempotent producer needs acks=-1")
        if self.compression_type not in COMPRESSION_NAMES:
            raise ConfigurationError(
                f"compression_type={self.compression_type}: one of {', '.join(COMPRESSION_NAMES)}"
            )
        in_flight = self.max_in_flight_requests_per_connection
        if in_flight is not None and in_flight < 1:
            raise ConfigurationError("max_in_flight_requests_per_connection is at least 1")
        for name in ("linger_ms", "request_timeout_ms", "retries", "max_block_ms"):
            if not 0 <= getattr(self, name) <= INT_MAX:
                raise ConfigurationError(f"{name} is between 0 and {INT_MAX}")
        object.__setattr__(
            self,
            "delivery_deadline_ms",
            delivery_timeout_in_force(
                self.delivery_timeout_ms, self.linger_ms, self.request_timeout_ms
            ),
        )

    def in_flight_max(self, window: int | None) -> int:
        """How many Produce requests one connection may have unanswered."""
        wanted = self.max_in_flight_requests_per_connection
        if self.enable_idempotence and window is None:
            return min(wanted or IN_FLIGHT_REQUESTS, IN_FLIGHT_REQUESTS)
        if wanted is None:
            return INT_MAX if window is not None else IN_FLIGHT_REQUESTS
        return wanted
