"""The keys with which an OAuth provider signs tokens: a JSON Web Key Set (RFC 7517).

Sources: Kafka's `JwksFileVerificationKeyResolver`, `CachedFile` and `RefreshingHttpsJwks`.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from broker.security.signed_tokens import Key
from broker.security.tokens import TokenError

if TYPE_CHECKING:
    from collections.abc import Callable

KEY_SET_BYTES_MAX = 1 << 20
MISSING_KEYS_MAX = 16
MISSING_KEY_LENGTH_MAX = 1000
MISSING_KEY_RETRY_MS = 60_000
"""After a token with an unknown key the keys are asked for again, at most once in this time."""


def parse_key_set(data: bytes) -> tuple[Key, ...]:
    """Return the keys of a JSON Web Key Set.

    Raises:
        ValueError: it is malformed, or too long.
    """
    if len(data) > KEY_SET_BYTES_MAX:
        raise ValueError(f"it has more than {KEY_SET_BYTES_MAX} bytes")
    try:
        keys = json.loads(data)["keys"]
    except (KeyError, TypeError, RecursionError, ValueError):
        raise ValueError("it is not a JSON Web Key Set") from None
    if not isinstance(keys, list) or not all(isinstance(key, dict) for key in keys):
        raise ValueError("it is not a JSON Web Key Set")
    return tuple(keys)


class KeysOfFile:
    """The keys of a file, which is read again when it has changed."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            OSError: it cannot be read.
            ValueError: it is no key set.
        """
        self._path = path
        self._modified_ns = -1
        self._keys: tuple[Key, ...] = ()
        self._read()

    def keys(self, _now_ms: int) -> tuple[Key, ...]:
        """Return the keys of the file as it is now."""
        try:
            self._read()
        except (OSError, ValueError) as error:
            raise TokenError(f"the file of keys cannot be read: {error}") from None
        return self._keys

    def miss(self, key_id: str, now_ms: int) -> None:
        """Do nothing: the file was just looked at."""

    def _read(self) -> None:
        modified_ns = self._path.stat().st_mtime_ns
        if modified_ns != self._modified_ns:
            self._keys = parse_key_set(self._path.read_bytes())
            self._modified_ns = modified_ns


class KeysOfEndpoint:
    """The keys that an HTTP endpoint had when they were last asked for."""

    def __init__(self, data: bytes) -> None:
        """Take the first response.

        Raises:
            ValueError: it is no key set.
        """
        self._keys = parse_key_set(data)
        self.on_missing: Callable[[int], object] | None = None
        """Called with the time when the keys must be asked for again, at once."""
        self._asked_ms: dict[str, int] = {}

    def keys(self, _now_ms: int) -> tuple[Key, ...]:
        """Return the keys of the last response."""
        return self._keys

    def take(self, data: bytes) -> None:
        """Take another response.

        Raises:
            ValueError: it is no key set; the keys stay as they are.
        """
        self._keys = parse_key_set(data)
        for key in self._keys:
            self._asked_ms.pop(str(key.get("kid")), None)

    def miss(self, key_id: str, now_ms: int) -> None:
        """Ask for the keys again, unless that was done for the same key not long ago."""
        if len(key_id) > MISSING_KEY_LENGTH_MAX:
            return
        asked_ms = self._asked_ms.pop(key_id, None)
        is_due = asked_ms is None or asked_ms + MISSING_KEY_RETRY_MS <= now_ms
        self._asked_ms[key_id] = now_ms if is_due or asked_ms is None else asked_ms
        if len(self._asked_ms) > MISSING_KEYS_MAX:
            del self._asked_ms[next(iter(self._asked_ms))]
        if is_due and self.on_missing is not None:
            self.on_missing(now_ms)
