"""SASL, whatever the mechanism: tokens in, tokens out, and in the end a name or a refusal."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

PLAIN = "PLAIN"
SCRAM_SHA_256 = "SCRAM-SHA-256"
SCRAM_SHA_512 = "SCRAM-SHA-512"
OAUTHBEARER = "OAUTHBEARER"
MECHANISMS = (PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, OAUTHBEARER)

Nonce = Callable[[], str]
"""A new printable text without commas that nobody can guess."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """The exchange goes on: send these bytes and wait for the next token."""

    token: bytes


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The exchange is through. `expires_at_ms` is when the credential itself ends, or None."""

    principal: str
    token: bytes = b""
    expires_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The exchange failed. The message goes to the client, so it holds no secret."""

    message: str


Outcome = Challenge | Authenticated | Refused


class Exchange(Protocol):
    """One run of a mechanism."""

    def step(self, token: bytes, now_ms: int) -> Outcome:
        """Take the client's next token. Whatever the bytes are, it never raises."""


def invalid_credentials(mechanism: str) -> Refused:
    """Kafka's words where it doesn't say what was wrong."""
    return Refused(
        "Authentication failed during authentication due to invalid credentials with SASL"
        f" mechanism {mechanism}"
    )
