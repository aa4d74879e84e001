import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.authorization.hosts import address_range, address_text, has_host


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::a:0:1", "2001:db8:0:0:0:a:0:1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
    ],
)
def test_an_address_is_printed_as_in_java(host: str, text: str) -> None:
    assert address_text(host) == text


@pytest.mark.parametrize(
    ("pattern", "host", "is_in"),
    [
        ("*", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.10", False),
        ("10.0.0.0/8", "10.255.255.255", True),
        ("10.0.0.0/8", "11.0.0.0", False),
        ("10.9.9.9/8", "10.0.0.0", True),
        ("10.0.0.1/32", "10.0.0.1", True),
        ("0.0.0.0/0", "0.0.0.0", False),
        ("0.0.0.0/0", "255.255.255.255", True),
        ("0.0.0.0/32", "0.0.0.0", False),
        ("::/0", "10.0.0.1", False),
        ("0.0.0.0/0", "0:0:0:0:0:0:0:1", False),
        ("::/0", "0:0:0:0:0:0:0:0", True),
        ("[2001:db8::]/32", "2001:db8:0:0:0:0:0:1", True),
        ("2001:db8::/32", "2001:db9:0:0:0:0:0:1", False),
        ("10.0.0.0/33", "10.0.0.1", False),
        ("localhost", "127.0.0.1", False),
        ("127.0.0.0/8", "localhost", False),
    ],
)
def test_a_host_is_an_address_a_range_or_any(pattern: str, host: str, is_in: bool) -> None:
    assert has_host(pattern, host) is is_in


@given(st.integers(1, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 32))
def test_ranges_of_ipv4_are_networks(host: int, network: int, prefix_length: int) -> None:
    pattern = f"{IPv4Address(network)}/{prefix_length}"
    expected = IPv4Address(host) in IPv4Network(pattern, strict=False)
    assert has_host(pattern, str(IPv4Address(host))) is expected


@given(st.integers(0, 2**128 - 1), st.integers(0, 2**128 - 1), st.integers(0, 128))
def test_ranges_of_ipv6_are_networks(host: int, network: int, prefix_length: int) -> None:
    address = IPv6Address(host)
    if address.ipv4_mapped is None and IPv6Address(network).ipv4_mapped is None:
        pattern = f"{IPv6Address(network)}/{prefix_length}"
        expected = address in IPv6Network(pattern, strict=False)
        assert has_host(pattern, address_text(str(address))) is expected


def test_a_range_has_a_first_and_a_last_address() -> None:
    network = ip_network("192.168.4.0/22")
    assert address_range("192.168.5.1/22") == (int(network[0]), int(network[-1]))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("10.0.0.0/33", "Value [33] not in range [0,32]"),
        ("300.0.0.0/33", "Value [300] not in range [0,255]"),
        ("10.0.0/8", "Could not parse [10.0.0/8]"),
        ("host/8", "Could not parse [host/8]"),
        ("10.0.0.0/", "Could not parse [10.0.0.0/]"),
        ("::1/x", "Could not parse [::1/x] - invalid prefix length"),
        ("::1/", "Could not parse [::1/] - invalid prefix length"),
        ("::1/129", "Could not parse [::1/129] - prefix length must be between 0 and 128"),
        ("::1/-1", "Could not parse [::1/-1] - prefix length must be between 0 and 128"),
        ("a:b/64", "Could not parse [a:b]"),
        ("::ffff:10.0.0.1/64", "Could not parse [::ffff:10.0.0.1] - not an IPv6 address"),
    ],
)
def test_what_is_no_range_is_refused_in_kafkas_words(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        address_range(pattern)
