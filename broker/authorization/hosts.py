"""The hosts that a rule is about: any, one address, or a range of addresses (CIDR).

Sources: Kafka's `CidrUtils`, with `SubnetUtils` and `SubnetUtils6`; Java's `InetAddress`.
"""

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from struct import unpack

from protocol.acls import WILDCARD

_RANGE_OF_IPV4 = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})/([0-9]{1,2})")
_PREFIX_LENGTH = re.compile(r"[+-]?[0-9]{1,10}")


def address_text(host: str) -> str:
    """Return an address as Java prints it, which is how a rule has to name it.

    An IPv6 address has all its groups: `::1` is `0:0:0:0:0:0:0:1`. An IPv4 address within an IPv6
    address is an IPv4 address.
    """
    if ":" not in host:
        return host
    address = IPv6Address(host)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    groups = ":".join(f"{group:x}" for group in unpack("!8H", address.packed))
    return groups if address.scope_id is None else f"{groups}%{address.scope_id}"


def has_host(pattern: str, host: str) -> bool:
    """Whether the pattern of a rule has a host, which is an `address_text`."""
    if pattern in {WILDCARD, host}:
        return True
    if "/" not in pattern:
        return False
    try:
        first, last = address_range(pattern)
        address = _ipv6(host) if ":" in pattern else _ipv4(host)
    except ValueError:
        return False
    return first <= address <= last


# All ranges of a cluster should fit: each decision without a memory looks at those of a resource.
@lru_cache(maxsize=16_384)
def address_range(pattern: str) -> tuple[int, int]:
    """Return the first and the last address of a range such as `10.0.0.0/8`, as numbers.

    Raises:
        ValueError: it is no range. The message is that of Kafka.
    """
    if ":" in pattern:
        text, _, prefix_text = pattern.partition("/")
        if not _PREFIX_LENGTH.fullmatch(prefix_text):
            raise ValueError(f"Could not parse [{pattern}] - invalid prefix length")
        prefix_length, bits = int(prefix_text), 128
        if not 0 <= prefix_length <= bits:
            raise ValueError(
                f"Could not parse [{pattern}] - prefix length must be between 0 and {bits}"
            )
        address = _ipv6(text)
    else:
        found = _RANGE_OF_IPV4.fullmatch(pattern)
        if found is None:
            raise ValueError(f"Could not parse [{pattern}]")
        address = _ipv4(pattern.partition("/")[0])
        prefix_length, bits = int(found[5]), 32
        if prefix_length > bits:
            raise ValueError(f"Value [{prefix_length}] not in range [0,{bits}]")
    host_mask = (1 << (bits - prefix_length)) - 1
    first = address & ~host_mask
    # SubnetUtils has 0.0.0.0 in no range.
    return first or int(bits == 32), first | host_mask


@lru_cache(maxsize=1024)
def _ipv4(text: str) -> int:
    """Return an IPv4 address as a number. As in Java, a byte may begin with zeros."""
    number = 0
    parts = text.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"Could not parse [{text}]")
    for part in parts:
        if int(part) > 255:
            raise ValueError(f"Value [{int(part)}] not in range [0,255]")
        number = number << 8 | int(part)
    return number


@lru_cache(maxsize=1024)
def _ipv6(text: str) -> int:
    try:
        address = IPv6Address(text.removeprefix("[").removesuffix("]"))
    except AddressValueError:
        raise ValueError(f"Could not parse [{text}]") from None
    if address.ipv4_mapped is not None:
        raise ValueError(f"Could not parse [{text}] - not an IPv6 address")
    return int(address)
