"""`open_admin`: `Admin` with sockets and a clock."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from client import clock
from client.addresses import addresses_of
from client.admin import API_TIMEOUT_MS, Admin
from client.security import Security
from client.transport import REQUEST_TIMEOUT_MS, SocketTransport


@contextmanager
def open_admin(
    bootstrap_servers: str | Iterable[str],
    *,
    client_id: str = "mock-kafka",
    security: Security | None = None,
    request_timeout_ms: int = REQUEST_TIMEOUT_MS,
    default_api_timeout_ms: int = API_TIMEOUT_MS,
) -> Iterator[Admin]:
    """Open an admin client for a `with` block, and close its connections at the end.

    Its methods block until the response or `default_api_timeout_ms`. In coroutines call them with
    `asyncio.to_thread`, one at a time.

    Args:
        bootstrap_servers: `HOST:PORT`, comma-separated or one by one.
        client_id: client quotas are found by it.
        security: TLS and SASL; None for neither.
        request_timeout_ms: timeout of one request.
        default_api_timeout_ms: timeout of one call, with all its retries.

    Raises:
        ValueError: an address is not HOST:PORT.
        SecurityError: a PEM file can't be read.
    """
    addresses = addresses_of(bootstrap_servers)
    with SocketTransport(client_id, security, request_timeout_ms) as transport:
        yield Admin(
            addresses,
            transport,
            now_ms=clock.now_ms,
            sleep_ms=clock.sleep_ms,
            default_api_timeout_ms=default_api_timeout_ms,
        )
