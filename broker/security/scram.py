"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), the server's side.

As in Kafka's `ScramFormatter`, names and passwords are UTF-8 without SASLprep.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from broker.security.sasl import (
    INVALID_CREDENTIALS,
    SCRAM_SHA_256,
    SCRAM_SHA_512,
    Authenticated,
    Challenge,
    Refused,
    SaslResult,
)

HASHES = {SCRAM_SHA_256: "sha256", SCRAM_SHA_512: "sha512"}
ITERATIONS_MIN = 4096
ITERATIONS_MAX = 16384
"""Kafka's bounds (`ScramMechanism`, and the controller's for what an administrator sets)."""

_CLIENT_FIRST = re.compile(
    r"(?P<gs2>[ny],(?:a=(?P<authzid>[^,]*))?,)"
    r"(?P<bare>n=(?P<name>[^,]+),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)"
    r"(?P<extensions>(?:,[a-zA-Z]+=[^,]+)*))"
)
_CLIENT_FINAL = re.compile(
    r"(?P<unproved>c=(?P<binding>[^,]*),r=(?P<nonce>[^,]+)(?:,[a-zA-Z]+=[^,]+)*),p=(?P<proof>[^,]+)"
)


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """What a server stores to check a password; the password cannot be recovered from it."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"


def credential_of_salted(
    mechanism: str, salted_password: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """Return the credential of a salted password, as AlterUserScramCredentials sends it.

    `mechanism` is one of HASHES.
    """
    hash_name = HASHES[mechanism]
    client_key = hmac.digest(salted_password, b"Client Key", hash_name)
    return ScramCredential(
        salt=salt,
        iterations=iterations,
        stored_key=hashlib.new(hash_name, client_key).digest(),
        server_key=hmac.digest(salted_password, b"Server Key", hash_name),
    )


def credential_of_password(
    mechanism: str, password: str, salt: bytes, iterations: int
) -> ScramCredential:
    """Return the credential of a password; takes some milliseconds on purpose."""
    salted = hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, iterations)
    return credential_of_salted(mechanism, salted, salt, iterations)


class TokenCredential(NamedTuple):
    """The credential of a delegation token, its owner, and when it expires (ms since 1970)."""

    credential: ScramCredential
    owner: str
    expires_at_ms: int


def _no_token(_token_id: str) -> None:
    return None


class ScramExchange:
    """Kafka's `ScramSaslServer`: two tokens from the client, two from the server."""

    def __init__(
        self,
        mechanism: str,
        find: Callable[[str], ScramCredential | None],
        nonce: str,
        find_token: Callable[[str], TokenCredential | None] = _no_token,
    ) -> None:
        """`nonce` is the server's part of the nonce.

        `find(name)` returns a user's credential, `find_token(token_id)` that of a delegation token.
        """
        self._mechanism = mechanism
        self._find = find
        self._find_token = find_token
        self._nonce = nonce
        self._principal = ""
        self._expires_at_ms: int | None = None
        self._gs2 = ""
        self._signed_so_far = ""
        self._credential: ScramCredential | None = None

    def step(self, token: bytes, _now_ms: int) -> SaslResult:
        """Handle the client's first or final message."""
        try:
            text = token.decode()
        except UnicodeDecodeError:
            return INVALID_CREDENTIALS
        return self._first(text) if self._credential is None else self._final(text)

    def _first(self, text: str) -> SaslResult:
        found = _CLIENT_FIRST.fullmatch(text)
        if found is None:
            return INVALID_CREDENTIALS
        name = _unescaped(found["name"])
        if _has_token(found["extensions"]):
            credential = self._credential_of_token(name)
        else:
            self._principal = name
            credential = self._find(name)
        if credential is None:
            return INVALID_CREDENTIALS
        if found["authzid"] and _unescaped(found["authzid"]) != name:
            return Refused(
                "Authentication failed: Client requested an authorization id that is different"
                " from username"
            )
        self._credential = credential
        self._gs2 = found["gs2"]
        self._nonce = found["nonce"] + self._nonce
        salt = base64.b64encode(credential.salt).decode()
        response = f"r={self._nonce},s={salt},i={credential.iterations}"
        self._signed_so_far = f"{found['bare']},{response}"
        return Challenge(response.encode())

    def _credential_of_token(self, token_id: str) -> ScramCredential | None:
        found = self._find_token(token_id)
        if found is None:
            return None
        self._principal, self._expires_at_ms = found.owner, found.expires_at_ms
        return found.credential

    def _final(self, text: str) -> SaslResult:
        credential = self._credential
        assert credential is not None
        found = _CLIENT_FINAL.fullmatch(text)
        if (
            found is None
            or found["nonce"] != self._nonce
            or _decoded(found["binding"]) != self._gs2.encode()
        ):
            return INVALID_CREDENTIALS
        hash_name = HASHES[self._mechanism]
        signed = f"{self._signed_so_far},{found['unproved']}".encode()
        signature = hmac.digest(credential.stored_key, signed, hash_name)
        proof = _decoded(found["proof"])
        if len(proof) != len(signature):
            return INVALID_CREDENTIALS
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        if not hmac.compare_digest(
            hashlib.new(hash_name, client_key).digest(), credential.stored_key
        ):
            return INVALID_CREDENTIALS
        verifier = hmac.digest(credential.server_key, signed, hash_name)
        return Authenticated(
            self._principal,
            b"v=" + base64.b64encode(verifier),
            self._expires_at_ms,
            by_delegation_token=self._expires_at_ms is not None,
        )


def _has_token(extensions: str) -> bool:
    """Return whether `,name=value,...` says that the name is that of a delegation token."""
    values = dict(entry.split("=", 1) for entry in extensions.split(",")[1:])
    return values.get("tokenauth", "").lower() == "true"


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
