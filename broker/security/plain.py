"""PLAIN (RFC 4616): name and password in one token."""

from collections.abc import Callable

from broker.security.sasl import Authenticated, Refused, SaslResult


class PlainExchange:
    """Kafka's `PlainSaslServer`: three parts between NUL characters, all in UTF-8."""

    def __init__(self, has_password: Callable[[str, str], bool]) -> None:
        """`has_password(name, password)` checks a password."""
        self._has_password = has_password

    def step(self, token: bytes, _now_ms: int) -> SaslResult:
        """Check the only token."""
        # Java replaces what is not UTF-8; no name or password has such a character.
        parts = token.decode(errors="replace").split("\0", 3)
        if len(parts) != 3:
            return Refused("Invalid SASL/PLAIN response: expected 3 tokens, got " + str(len(parts)))
        authorization_id, name, password = parts
        if not name:
            return Refused("Authentication failed: username not specified")
        if not password:
            return Refused("Authentication failed: password not specified")
        if not self._has_password(name, password):
            return Refused("Authentication failed: Invalid username or password")
        if authorization_id not in {"", name}:
            return Refused(
                "Authentication failed: Client requested an authorization id that is different"
                " from username"
            )
        return Authenticated(name)
