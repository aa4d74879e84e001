"""Parse addresses of brokers."""

from collections.abc import Iterable

from client.resources import Address

DEFAULT_PORT = 9092


def addresses_of(bootstrap_servers: str | Iterable[str]) -> list[Address]:
    """Parse `HOST:PORT` and `HOST`, comma-separated or as an iterable.

    Raises:
        ValueError: an address has another form.
    """
    if isinstance(bootstrap_servers, str):
        bootstrap_servers = bootstrap_servers.split(",")
    return [address_of(bootstrap_server.strip()) for bootstrap_server in bootstrap_servers]


def address_of(text: str) -> Address:
    """Parse one address; an IPv6 address is in brackets."""
    host, separator, port = text.rpartition(":")
    if not separator or text.endswith("]"):
        host, port = text, str(DEFAULT_PORT)
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{text!r} is not HOST:PORT")
    return Address(host.strip("[]"), int(port))
