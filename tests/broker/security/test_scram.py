"""SCRAM: the vectors of the RFCs, and that only the right password is accepted."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.sasl import INVALID_CREDENTIALS, Authenticated, Challenge, Refused
from broker.security.scram import (
    HASHES,
    ScramCredential,
    ScramExchange,
    credential_of_password,
    credential_of_salted,
)
from tests.broker.security.sasl_messages import response

ITERATIONS = 4096
FINAL = b"c=biws,r=xserver,p="


def test_the_exchange_of_rfc_7677() -> None:
    credential = credential_of_password(
        "SCRAM-SHA-256", "pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), ITERATIONS
    )
    exchange = ScramExchange(
        "SCRAM-SHA-256", {"user": credential}.get, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    assert exchange.step(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", 0) == Challenge(
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert exchange.step(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        0,
    ) == Authenticated("user", b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_the_keys_of_rfc_5802_come_from_the_same_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HASHES, "SCRAM-SHA-1", "sha1")
    salt = base64.b64decode("QSXCR+Q6sek8bf92")
    credential = credential_of_password("SCRAM-SHA-1", "pencil", salt, ITERATIONS)
    exchange = ScramExchange("SCRAM-SHA-1", {"user": credential}.get, "3rfcNHYJY1ZVvWVs7j")
    assert exchange.step(b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL", 0) == Challenge(
        b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096"
    )
    assert exchange.step(
        b"c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=", 0
    ) == Authenticated("user", b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("guess", ["secret", "Secret", ""])
def test_only_the_password_authenticates(mechanism: str, guess: str) -> None:
    credential = credential_of_password(mechanism, "secret", b"salt", ITERATIONS)
    exchange = ScramExchange(mechanism, {"a,b=c": credential}.get, "server")
    first = "y,a=a=2Cb=3Dc,n=a=2Cb=3Dc,r=client"
    challenge = exchange.step(first.encode(), 0)
    assert isinstance(challenge, Challenge)
    outcome = exchange.step(response(challenge.token, first, guess, mechanism), 0)
    if guess == "secret":
        assert isinstance(outcome, Authenticated)
        assert outcome.principal == "a,b=c"
    else:
        assert isinstance(outcome, Refused)


def test_a_salted_password_gives_the_same_credential_as_the_password() -> None:
    salted = hashlib.pbkdf2_hmac("sha512", b"secret", b"salt", ITERATIONS)
    assert credential_of_salted(
        "SCRAM-SHA-512", salted, b"salt", ITERATIONS
    ) == credential_of_password("SCRAM-SHA-512", "secret", b"salt", ITERATIONS)


def test_a_credential_does_not_show_its_keys() -> None:
    assert repr(ScramCredential(b"salt", 4096, b"stored", b"server")) == (
        "ScramCredential(iterations=4096)"
    )


@pytest.mark.parametrize(
    "first", [b"n,,n=nobody,r=x", b"p=tls,,n=user,r=x", b"n,a=other,n=user,r=x", b"", b"\xff"]
)
def test_a_bad_first_message_is_refused(first: bytes) -> None:
    credential = ScramCredential(b"salt", 4096, b"k" * 32, b"s")
    exchange = ScramExchange("SCRAM-SHA-256", {"user": credential}.get, "server")
    assert isinstance(exchange.step(first, 0), Refused)


@given(st.binary() | st.binary().map(lambda proof: FINAL + base64.b64encode(proof)))
def test_a_final_message_without_the_password_is_refused(final: bytes) -> None:
    credential = ScramCredential(b"salt", 4096, b"k" * 32, b"s")
    exchange = ScramExchange("SCRAM-SHA-256", {"user": credential}.get, "server")
    assert isinstance(exchange.step(b"n,,n=user,r=x", 0), Challenge)
    assert isinstance(exchange.step(final, 0), Refused)


def test_an_unknown_user_is_refused_before_another_authorization_id() -> None:
    exchange = ScramExchange("SCRAM-SHA-256", lambda _name: None, "server")
    outcome = exchange.step(b"n,a=bob,n=alice,r=client", 0)
    assert outcome == INVALID_CREDENTIALS
