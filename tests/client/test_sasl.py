"""SASL exchanges, with the test vectors of their RFCs."""

import pytest

from client.errors import SecurityError
from client.sasl import Scram, exchange

# RFC 7677, section 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
CHALLENGE = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
PROOF = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_plain_is_one_token() -> None:
    tokens = exchange("PLAIN", "alice", "secret", NONCE)
    assert tokens.first() == b"\0alice\0secret"
    assert tokens.respond(b"") is None


def test_scram_matches_the_example_of_its_rfc() -> None:
    scram = exchange("SCRAM-SHA-256", "user", "pencil", NONCE)
    assert scram.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert scram.respond(CHALLENGE) == PROOF
    assert scram.respond(FINAL) is None


def test_scram_sha_512_has_a_longer_proof() -> None:
    scram = exchange("SCRAM-SHA-512", "user", "pencil", NONCE)
    response = scram.respond(CHALLENGE)
    assert response is not None
    assert len(response.rpartition(b",p=")[2]) == 88


def test_special_characters_are_escaped_in_names() -> None:
    assert Scram("sha256", "a=b,c", "p", "N").first() == b"n,,n=a=3Db=2Cc,r=N"


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        CHALLENGE.replace(b"rOp", b"xOp"),
        CHALLENGE.replace(b"4096", b"4095"),
        CHALLENGE.replace(b"4096", b"many"),
        CHALLENGE.replace(b"W22", b"\xff"),
    ],
)
def test_an_invalid_challenge_gets_no_proof(challenge: bytes) -> None:
    with pytest.raises(SecurityError, match="challenge"):
        exchange("SCRAM-SHA-256", "user", "pencil", NONCE).respond(challenge)


@pytest.mark.parametrize("final", [b"", b"e=other-error", FINAL.replace(b"6rri", b"7rri")])
def test_a_broker_with_a_wrong_signature_is_refused(final: bytes) -> None:
    scram = exchange("SCRAM-SHA-256", "user", "pencil", NONCE)
    scram.respond(CHALLENGE)
    with pytest.raises(SecurityError, match="password"):
        scram.respond(final)
