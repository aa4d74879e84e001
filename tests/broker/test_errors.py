"""The message of a refusal fits into every response."""

import pytest

from broker.errors import ERROR_MESSAGE_CHARACTERS_MAX, Refusal
from protocol.errors import ErrorCode


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (None, None),
        ("no such topic", "no such topic"),
        ("x" * 2000, "x" * ERROR_MESSAGE_CHARACTERS_MAX),
    ],
)
def test_a_long_message_is_cut(message: str | None, shown: str | None) -> None:
    assert Refusal(ErrorCode.INVALID_REQUEST, message).error_message == shown
