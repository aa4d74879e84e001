"""Addresses that brokers listen on and advertise."""

from dataclasses import dataclass
from ipaddress import ip_address

PORT_MAX = 65535
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
"""The names of this machine for its own programs."""


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port; port 0 stands for the port that the broker listens on."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def shifted(self, by: int) -> "Address":
        """Return the address with the port plus `by`; port 0 stays."""
        return Address(self.host, self.port + by if self.port else 0)


def parse_listener(text: str) -> tuple[str, Address]:
    """Return the name and the address of a listener such as `PLAINTEXT://localhost:9092`.

    Raises:
        ValueError: it has another form; the message shows the text and the form.
    """
    name, scheme_end, rest = text.partition("://")
    host, colon, port = rest.rpartition(":")
    if not name or not scheme_end or not colon or not port.isdecimal() or int(port) > PORT_MAX:
        raise ValueError(f"{text!r} is not NAME://HOST:PORT")
    return name, Address(without_brackets(host), int(port))


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to `host`, a name or an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def without_brackets(host: str) -> str:
    """Return a host without the brackets around an IPv6 address, as in `[::1]`."""
    is_bracketed = host.startswith("[") and host.endswith("]")
    return host[1:-1] if is_bracketed else host
