"""Addresses in the form that clients and log lines show."""

import pytest

from broker.addresses import Address, parse_listener, without_brackets


@pytest.mark.parametrize(
    ("host", "text"),
    [("127.0.0.1", "127.0.0.1:9092"), ("broker-1", "broker-1:9092"), ("::1", "[::1]:9092")],
)
def test_an_ipv6_host_is_in_brackets(host: str, text: str) -> None:
    assert str(Address(host, 9092)) == text


@pytest.mark.parametrize(("port", "shifted"), [(9092, 9095), (0, 0)])
def test_a_shift_moves_the_port_unless_it_is_0(port: int, shifted: int) -> None:
    assert Address("h", port).shifted(3) == Address("h", shifted)


@pytest.mark.parametrize(
    ("text", "address"),
    [("OUT://far:3000", Address("far", 3000)), ("OUT://[::1]:0", Address("::1", 0))],
)
def test_a_listener_has_a_name_and_an_address(text: str, address: Address) -> None:
    assert parse_listener(text) == ("OUT", address)


@pytest.mark.parametrize("text", ["far:3000", "OUT://far", "://far:1", "OUT://far:65536"])
def test_another_form_of_a_listener_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not NAME://HOST:PORT"):
        parse_listener(text)


@pytest.mark.parametrize(
    ("text", "host"), [("[::1]", "::1"), ("::1", "::1"), ("far", "far"), ("[", "["), ("[]", "")]
)
def test_brackets_are_removed_in_pairs(text: str, host: str) -> None:
    assert without_brackets(text) == host
