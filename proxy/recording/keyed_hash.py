"""Hashes in place of values: the same value has the same hash, and nobody can guess it back.

The hash is an HMAC with SHA-256: without the key nobody can compute the hashes of likely values.
"""

import hashlib
import hmac
from typing import Any

_TEXT_BYTES = 16
_NUMBER_BYTES = 8
_NUMBER_MASK = (1 << 53) - 1
"""Whole numbers up to it are exact in every reader of JSON."""


class KeyedHash:
    """Hashes with one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of_bytes(self, data: bytes) -> bytes:
        """Return the hash of bytes: 32 hexadecimal digits, as text."""
        return self._digest(data)[:_TEXT_BYTES].hex().encode()

    def of_json(self, value: Any) -> Any:
        """Return a value of JSON with hashes in place of its strings and numbers.

        A string has the hash of its bytes in UTF-8, and a number a whole number. Names, `true`,
        `false` and `null` stay: a hash of so few values would hide nothing.
        """
        match value:
            case None | bool():
                return value
            case str():
                return self.of_bytes(value.encode("utf-8", "surrogatepass")).decode()
            case int() | float():
                is_whole = isinstance(value, float) and value.is_integer()
                digest = self._digest(repr(int(value) if is_whole else value).encode())
                return int.from_bytes(digest[:_NUMBER_BYTES], "big") & _NUMBER_MASK
            case dict():
                return {name: self.of_json(member) for name, member in value.items()}
            case _:
                return [self.of_json(element) for element in value]

    def _digest(self, data: bytes) -> bytes:
        return hmac.digest(self._key, data, hashlib.sha256)
