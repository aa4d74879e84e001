"""The keys of a provider: a file that changes, and an endpoint that is times_ms again."""

import os
from pathlib import Path

import pytest

from broker.security.token_keys import (
    KEY_SET_BYTES_MAX,
    MISSING_KEY_RETRY_MS,
    MISSING_KEYS_MAX,
    KeysOfEndpoint,
    KeysOfFile,
    parse_key_set,
)
from broker.security.tokens import TokenError
from tests.broker.security.provider import key_set

ONE, TWO = {"kty": "oct", "kid": "one"}, {"kty": "oct", "kid": "two"}


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b'{"keys": 7}', b'{"keys": [7]}', b" " * (KEY_SET_BYTES_MAX + 1)]
)
def test_what_is_no_key_set_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="it "):
        parse_key_set(data)


def test_a_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(key_set(ONE))
    keys = KeysOfFile(path)
    assert keys.keys(0) == (ONE,)
    path.write_bytes(key_set(TWO))
    os.utime(path, ns=(1, 1))
    assert keys.keys(0) == (TWO,)
    path.write_bytes(b"damaged")
    os.utime(path, ns=(2, 2))
    with pytest.raises(TokenError):
        keys.keys(0)


def test_an_unknown_key_is_asked_for_once_a_minute() -> None:
    keys = KeysOfEndpoint(key_set(ONE))
    times_ms: list[int] = []
    keys.on_missing = times_ms.append
    for now_ms in (0, 1, MISSING_KEY_RETRY_MS - 1, MISSING_KEY_RETRY_MS, MISSING_KEY_RETRY_MS + 1):
        keys.miss("two", now_ms)
    assert times_ms == [0, MISSING_KEY_RETRY_MS]
    keys.miss("k" * 1001, 0)
    assert times_ms == [0, MISSING_KEY_RETRY_MS]


def test_few_unknown_keys_are_remembered() -> None:
    keys = KeysOfEndpoint(key_set(ONE))
    times_ms: list[int] = []
    keys.on_missing = times_ms.append
    for number in range(MISSING_KEYS_MAX + 1):
        keys.miss(str(number), number)
    keys.miss("0", 99)  # forgotten
    keys.miss("9", 99)
    assert times_ms == [*range(MISSING_KEYS_MAX + 1), 99]


def test_a_bad_response_leaves_the_keys() -> None:
    keys = KeysOfEndpoint(key_set(ONE))
    with pytest.raises(ValueError, match="not a JSON Web Key Set"):
        keys.take(b"<html>")
    assert keys.keys(0) == (ONE,)
    keys.take(key_set(TWO))
    assert keys.keys(0) == (TWO,)
