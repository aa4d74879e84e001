"""PLAIN: three parts, one of them the right password."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.plain import PlainExchange
from broker.security.sasl import Authenticated, Refused


def step(token: bytes) -> object:
    return PlainExchange(lambda *pair: pair == ("alice", "secret")).step(token, 0)


@pytest.mark.parametrize("token", [b"\0alice\0secret", b"alice\0alice\0secret"])
def test_name_and_password_authenticate(token: bytes) -> None:
    assert step(token) == Authenticated("alice")


@pytest.mark.parametrize(
    "token",
    [
        b"\0alice\0wrong",
        b"\0bob\0secret",
        b"bob\0alice\0secret",
        b"alice\0secret",
        b"\0\0secret",
        b"\0alice\0",
        b"\0alice\0\xff",
        b"\0alice\0secret\0",
    ],
)
def test_other_tokens_are_refused(token: bytes) -> None:
    assert isinstance(step(token), Refused)


@given(st.binary())
def test_any_bytes_raise_no_exception(token: bytes) -> None:
    assert isinstance(step(token), Refused)
