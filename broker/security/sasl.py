"""The interface of SASL mechanisms: tokens in, tokens out, then a principal or a refusal."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

PLAIN = "PLAIN"
SCRAM_SHA_256 = "SCRAM-SHA-256"
SCRAM_SHA_512 = "SCRAM-SHA-512"
OAUTHBEARER = "OAUTHBEARER"
MECHANISMS = (PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, OAUTHBEARER)

Nonce = Callable[[], str]
"""Return a new random printable text without commas."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """The exchange continues: send these bytes and wait for the next token."""

    token: bytes


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The exchange succeeded. `expires_at_ms` is when the credential itself ends, or None.

    `by_delegation_token`: the credential was a delegation token of the principal.
    """

    principal: str
    token: bytes = b""
    expires_at_ms: int | None = None
    by_delegation_token: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """The exchange failed. The message goes to the client, so it holds no secret.

    None is for Kafka's message where it gives no reason, `invalid_credentials_message`.
    """

    message: str | None


SaslResult = Challenge | Authenticated | Refused


class Exchange(Protocol):
    """One exchange of a mechanism."""

    def step(self, token: bytes, now_ms: int) -> SaslResult:
        """Handle the client's next token. It never raises, whatever the bytes are."""


INVALID_CREDENTIALS = Refused(None)


def invalid_credentials_message(mechanism: str | None, *, is_again: bool) -> str:
    """Return Kafka's message where it gives no reason; `is_again` is for a re-authentication."""
    authentication = "re-authentication" if is_again else "authentication"
    return (
        f"Authentication failed during {authentication} due to invalid credentials with SASL"
        f" mechanism {mechanism}"
    )
