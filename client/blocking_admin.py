"""`Admin` with real sockets and a real clock: what programs use that aren't tools."""

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
    """An admin client for the length of a `with` block; its connections are closed then.

    Its methods block: each returns with the response, or raises when `default_api_timeout_ms` is
    over. In coroutines call them by `asyncio.to_thread`, one at a time.

    Args:
        bootstrap_servers: `HOST:PORT`, comma-separated or one by one.
        client_id: as brokers see it, who may have quotas for it.
        security: TLS and SASL; None for neither.
        request_timeout_ms: how long one response may take.
        default_api_timeout_ms: how long one call may take with all it asks again.

    Raises:
        ValueError: `bootstrap_servers` are no addresses.
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
