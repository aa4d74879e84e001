"""Delegation tokens: their times, and who may renew them and let them expire."""

import hashlib
import hmac
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.delegation_tokens import DelegationToken, DelegationTokens, Principal
from broker.security.scram import credential_of_password
from protocol.errors import ErrorCode

ALICE, BOB, CAROL, DAVE = (Principal("User", name) for name in ("alice", "bob", "carol", "dave"))
NOW_MS = 1_000_000
LIFETIME_MS, RENEW_PERIOD_MS = 10_000, 3000
LONG_MAX = (1 << 63) - 1


def make(secret_key: str | None = "key", lifetime_ms: int = LIFETIME_MS) -> DelegationTokens:
    numbers = count(1)
    return DelegationTokens(
        secret_key=secret_key,
        lifetime_ms=lifetime_ms,
        renew_period_ms=RENEW_PERIOD_MS,
        new_token_id=lambda: f"token-{next(numbers)}",
    )


def token_of_bob(tokens: DelegationTokens, lifetime_ms: int = -1) -> DelegationToken:
    """A token that alice creates for bob, and that carol may renew."""
    return tokens.create(ALICE, BOB, (CAROL,), lifetime_ms, NOW_MS)


@pytest.mark.parametrize("secret_key", [None, ""])
def test_there_are_no_tokens_without_a_secret_key(secret_key: str | None) -> None:
    assert not make(secret_key).is_enabled
    assert make("key").is_enabled


def test_the_hmac_is_made_from_the_token_id_and_the_secret_key() -> None:
    tokens = make("key")
    token = token_of_bob(tokens)
    assert token.hmac == hmac.digest(b"key", token.token_id.encode(), "sha512")
    assert tokens.find(token.token_id) is token
    assert tokens.find("token-9") is None
    assert str(token.hmac) not in repr(token)


@pytest.mark.parametrize(
    ("requested_ms", "max_ms", "expiry_ms"),
    [
        (-1, LIFETIME_MS, RENEW_PERIOD_MS),
        (0, LIFETIME_MS, RENEW_PERIOD_MS),
        (5000, 5000, RENEW_PERIOD_MS),
        (1000, 1000, 1000),
        (LIFETIME_MS + 1, LIFETIME_MS, RENEW_PERIOD_MS),
    ],
)
def test_a_token_has_the_requested_lifetime_within_the_bounds(
    requested_ms: int, max_ms: int, expiry_ms: int
) -> None:
    token = token_of_bob(make(), requested_ms)
    assert token.issue_timestamp_ms == NOW_MS
    assert token.max_timestamp_ms == NOW_MS + max_ms
    assert token.expiry_timestamp_ms == NOW_MS + expiry_ms


def test_timestamps_stay_within_int64() -> None:
    token = token_of_bob(make(lifetime_ms=LONG_MAX))
    assert token.max_timestamp_ms == LONG_MAX


@pytest.mark.parametrize(
    ("now_ms", "period_ms", "expected_ms"),
    [
        (NOW_MS + 1000, -1, NOW_MS + 1000 + RENEW_PERIOD_MS),
        (NOW_MS + 1000, 500, NOW_MS + 1500),
        (NOW_MS + RENEW_PERIOD_MS, 99_999, NOW_MS + 2 * RENEW_PERIOD_MS),
    ],
)
def test_a_token_is_renewed_within_the_bounds(
    now_ms: int, period_ms: int, expected_ms: int
) -> None:
    tokens = make()
    token = token_of_bob(tokens)
    assert tokens.renew(token.hmac, BOB, period_ms, now_ms) == (ErrorCode.NONE, expected_ms)
    assert token.expiry_timestamp_ms == expected_ms


def test_a_token_is_not_renewed_beyond_its_maximum_lifetime() -> None:
    tokens = make()
    token = token_of_bob(tokens, 4000)
    renewed = tokens.renew(token.hmac, BOB, -1, NOW_MS + 2000)
    assert renewed == (ErrorCode.NONE, NOW_MS + 4000)


@pytest.mark.parametrize(
    ("renewer", "error_code"),
    [
        (BOB, ErrorCode.NONE),
        (CAROL, ErrorCode.NONE),
        (ALICE, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH),
        (Principal("Group", "bob"), ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH),
    ],
)
def test_the_owner_and_the_renewers_change_a_token(
    renewer: Principal, error_code: ErrorCode
) -> None:
    tokens = make()
    token = token_of_bob(tokens)
    assert tokens.renew(token.hmac, renewer, -1, NOW_MS)[0] == error_code
    assert tokens.expire(token.hmac, renewer, 100, NOW_MS)[0] == error_code


def test_an_unknown_hmac_is_not_found() -> None:
    tokens = make()
    token_of_bob(tokens)
    not_found = (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)
    assert tokens.renew(b"other", BOB, -1, NOW_MS) == not_found
    assert tokens.expire(b"other", BOB, -1, NOW_MS) == not_found


def test_an_expired_token_is_neither_renewed_nor_given_another_end() -> None:
    tokens = make()
    token = token_of_bob(tokens)
    late_ms = NOW_MS + RENEW_PERIOD_MS + 1
    expired = (ErrorCode.DELEGATION_TOKEN_EXPIRED, 0)
    assert tokens.renew(token.hmac, BOB, -1, late_ms) == expired
    assert tokens.expire(token.hmac, BOB, 0, late_ms) == expired
    assert tokens.expire(token.hmac, BOB, -1, late_ms) == (ErrorCode.NONE, late_ms)


def test_a_token_expires_after_a_period_or_is_removed_at_once() -> None:
    tokens = make()
    token = token_of_bob(tokens)
    assert tokens.expire(token.hmac, BOB, 700, NOW_MS) == (ErrorCode.NONE, NOW_MS + 700)
    assert tokens.expire(token.hmac, BOB, LONG_MAX, NOW_MS) == (
        ErrorCode.NONE,
        NOW_MS + LIFETIME_MS,
    )
    assert tokens.find(token.token_id) is token
    assert tokens.expire(token.hmac, BOB, -1, NOW_MS) == (ErrorCode.NONE, NOW_MS)
    assert tokens.find(token.token_id) is None
    assert tokens.renew(token.hmac, BOB, -1, NOW_MS)[0] == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_owner_requester_and_renewers_find_a_token() -> None:
    tokens = make()
    token = token_of_bob(tokens)
    other = tokens.create(DAVE, DAVE, (), -1, NOW_MS)
    for principal in (ALICE, BOB, CAROL):
        assert tokens.described([principal]) == [token]
    assert tokens.described([DAVE, BOB]) == [token, other]
    assert tokens.described(None) == [token, other]
    assert tokens.described([]) == []


def test_the_password_of_a_token_is_its_hmac_in_base64() -> None:
    token = token_of_bob(make())
    token.hmac = hashlib.sha512(b"x").digest()
    password = (
        "pKvURIxJVi2CgRXROh/M6pJ/UrTVRZKX+LQ+QtqJI4vBNibkPcs43bCCSIkn7JBPtCBXRDmD6IWFF51QVRr+Yg=="
    )
    credential = token.credential("SCRAM-SHA-256", lambda: b"salt")
    assert credential == credential_of_password("SCRAM-SHA-256", password, b"salt", 4096)
    assert credential is token.credential("SCRAM-SHA-256", lambda: b"other")


@given(st.lists(st.integers(1, 2 * RENEW_PERIOD_MS), max_size=20), st.integers(0, 9000))
def test_tokens_are_removed_after_their_end_and_not_before(
    lifetimes_ms: list[int], later_ms: int
) -> None:
    tokens = make()
    created = [token_of_bob(tokens, lifetime_ms) for lifetime_ms in lifetimes_ms]
    tokens.remove_expired(NOW_MS + later_ms)
    expected = [token for token in created if token.expiry_timestamp_ms >= NOW_MS + later_ms]
    assert tokens.described(None) == expected
    assert len(tokens) == len(expected)
    for token in created:
        assert (tokens.find(token.token_id) is None) == (token not in expected)
