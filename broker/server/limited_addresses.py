"""The addresses of the hosts in `max.connections.per.ip.overrides`."""

import socket
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address

from broker.config.ip_limits import parse_ip_limits


@lru_cache(maxsize=8)
def limits_by_address(text: str) -> Mapping[str, int]:
    """Return the limits by address, of valid text. The names in it are looked up, once."""
    limits = {}
    for host, limit in parse_ip_limits(text).items():
        for address in _addresses(host):
            limits[address] = limit
    return limits


def _addresses(host: str) -> list[str]:
    try:
        return [str(ip_address(host))]
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []  # nobody connects from there
    return [str(ip_address(str(address[0]).partition("%")[0])) for *_, address in found]
