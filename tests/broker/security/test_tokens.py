"""Claims of tokens, as Kafka reads them."""

from typing import Any

import pytest

from broker.security.tokens import (
    TIME_MS_MAX,
    TokenError,
    decoded_object,
    scopes_of,
    text_claim,
    time_claim_ms,
)
from tests.broker.security.sasl_messages import encoded


def test_a_part_is_an_object_in_base64url() -> None:
    assert decoded_object(encoded({"sub": "alice?>"})) == {"sub": "alice?>"}
    for part in ("", "%", encoded([]), encoded(7), "e30=x"):
        with pytest.raises(TokenError):
            decoded_object(part)


@pytest.mark.parametrize(
    ("seconds", "time_ms"),
    [(None, None), (1, 1000), (1.0005, 1001), (-1, -1000), (1e300, TIME_MS_MAX), (1.0004, 1000)],
)
def test_a_time_is_rounded_to_milliseconds(seconds: float | None, time_ms: int | None) -> None:
    assert time_claim_ms({"exp": seconds}, "exp") == time_ms


@pytest.mark.parametrize("seconds", [True, "1", float("nan"), float("inf"), []])
def test_what_is_no_time_is_an_error(seconds: Any) -> None:
    with pytest.raises(TokenError):
        time_claim_ms({"exp": seconds}, "exp")


@pytest.mark.parametrize("text", [None, "", " ", 7, "a\ud800"])
def test_a_principal_needs_a_text(text: Any) -> None:
    assert text_claim({"sub": "alice"}, "sub") == "alice"
    with pytest.raises(TokenError):
        text_claim({"sub": text}, "sub")


@pytest.mark.parametrize(
    ("value", "scopes"),
    [("read", ("read",)), ([" read ", "", 7], ("read", "7")), (7, ()), ("", ())],
)
def test_scopes_are_one_text_or_a_list(value: Any, scopes: tuple[str, ...]) -> None:
    assert scopes_of({"scope": value}, "scope") == scopes
