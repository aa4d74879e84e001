"""Valid alterations of SCRAM credentials, and the errors of invalid ones."""

import hashlib

import pytest

from broker.administration.scram_credentials import (
    MECHANISMS_BY_CODE,
    Alteration,
    Deletion,
    Upsertion,
    alter_credentials,
)
from broker.security.credentials import Credentials
from broker.security.delegation_tokens import DelegationTokens
from broker.security.scram import credential_of_password
from protocol.errors import ErrorCode
from tests.broker.interleaving import run_with_pauses


def make(**users: str) -> Credentials:
    tokens = DelegationTokens(
        secret_key=None, lifetime_ms=1, renew_period_ms=1, new_token_id=lambda: "token"
    )
    return Credentials(users, tokens, new_nonce=lambda: "nonce", new_salt=lambda: b"salt")


def upsertion(
    name: str = "bob",
    code: int = 1,
    iterations: int = 4096,
    salt: bytes = b"s",
    salted: bytes = b"salted",
) -> Upsertion:
    return Upsertion(name, code, iterations, salt, salted)


def codes(credentials: Credentials, *alterations: Alteration) -> dict[str, ErrorCode]:
    deletions = [alteration for alteration in alterations if isinstance(alteration, Deletion)]
    upsertions = [alteration for alteration in alterations if isinstance(alteration, Upsertion)]
    results = alter_credentials(credentials, deletions, upsertions)
    return {
        name: ErrorCode.NONE if refusal is None else ErrorCode(refusal.error_code)
        for name, refusal in results.items()
    }


def test_a_user_with_an_upserted_credential_can_authenticate() -> None:
    credentials = make()
    salted = hashlib.pbkdf2_hmac("sha512", b"secret", b"s", 8192)
    assert codes(credentials, upsertion(code=2, iterations=8192, salted=salted)) == {
        "bob": ErrorCode.NONE
    }
    expected = credential_of_password("SCRAM-SHA-512", "secret", b"s", 8192)
    assert credentials.scram("bob", "SCRAM-SHA-512") == expected
    assert credentials.scram("bob", "SCRAM-SHA-256") is None
    assert credentials.scram_users() == ["bob"]


@pytest.mark.parametrize(
    ("alteration", "code"),
    [
        (upsertion(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(iterations=4096), ErrorCode.NONE),
        (upsertion(iterations=16384), ErrorCode.NONE),
        (upsertion(iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(name=""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(salt=b""), ErrorCode.NONE),
        (upsertion(salted=b""), ErrorCode.UNKNOWN_SERVER_ERROR),
        (upsertion(code=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (upsertion(code=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (Deletion("bob", 3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (Deletion("", 1), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (Deletion("bob", 1), ErrorCode.RESOURCE_NOT_FOUND),
        (Deletion("alice", 1), ErrorCode.NONE),
    ],
)
def test_each_alteration_is_checked(alteration: Alteration, code: ErrorCode) -> None:
    credentials = make(alice="secret")
    assert codes(credentials, alteration) == {alteration.name: code}
    is_set = credentials.scram(alteration.name, "SCRAM-SHA-256") is not None
    assert is_set == (isinstance(alteration, Upsertion) and code == ErrorCode.NONE)


@pytest.mark.parametrize(
    "alterations",
    [
        (Deletion("alice", 1), upsertion("alice")),
        (Deletion("alice", 1), upsertion("alice", code=2)),
        (Deletion("alice", 1), Deletion("alice", 2)),
        (Deletion("alice", 1), Deletion("alice", 2), upsertion("alice")),
        (upsertion("alice"), upsertion("alice", code=2)),
    ],
)
def test_a_user_altered_twice_is_refused_and_not_changed(
    alterations: tuple[Alteration, ...],
) -> None:
    credentials = make(alice="secret")
    before = [credentials.scram("alice", f"SCRAM-SHA-{size}") for size in (256, 512)]
    assert codes(credentials, *alterations, upsertion("bob")) == {
        "bob": ErrorCode.NONE,
        "alice": ErrorCode.DUPLICATE_RESOURCE,
    }
    assert [credentials.scram("alice", f"SCRAM-SHA-{size}") for size in (256, 512)] == before
    assert credentials.scram_users() == ["alice", "bob"]


def test_the_first_error_of_a_user_counts() -> None:
    found = codes(make(), Deletion("bob", 3), upsertion("bob"), upsertion("eve", 1, 1))
    assert found == {
        "bob": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "eve": ErrorCode.UNACCEPTABLE_CREDENTIAL,
    }


def test_results_are_ordered_by_kind_then_as_in_a_hash_map() -> None:
    credentials = make(user="secret")
    deletions = [Deletion("user", 1), Deletion("client-id", 1)]
    upsertions = [upsertion(name) for name in ("topic-0", "topic-37", "topic-74")]
    results = alter_credentials(credentials, deletions, upsertions)
    assert list(results) == ["user", "topic-37", "topic-0", "topic-74", "client-id"]


def test_an_alteration_does_not_show_the_password() -> None:
    assert "salted" not in repr(upsertion())


def test_a_credential_may_be_deleted_by_another_request_during_a_pause() -> None:
    credentials = make()
    assert codes(credentials, upsertion("ann"), upsertion("bob")) == {
        "ann": ErrorCode.NONE,
        "bob": ErrorCode.NONE,
    }
    bob = MECHANISMS_BY_CODE[1]

    def delete_bob() -> None:
        # In the last pause only: the checks are over.
        if credentials.scram_iterations("ann", bob) is None:
            codes(credentials, Deletion("bob", 1))

    results = run_with_pauses(
        lambda: codes(credentials, Deletion("ann", 1), Deletion("bob", 1)), delete_bob
    )

    assert results == {"ann": ErrorCode.NONE, "bob": ErrorCode.NONE}
