"""The client side of SASL mechanisms, without the connection: tokens in, tokens out."""

import base64
import hashlib
import hmac
from typing import Protocol

from client.errors import SecurityError

_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISMS = ("PLAIN", *_HASHES)
ITERATIONS_MIN = 4096


class Exchange(Protocol):
    """One authentication."""

    def first(self) -> bytes:
        """Return the first token."""

    def respond(self, challenge: bytes) -> bytes | None:
        """Return the response to a broker's token, or None after the last one.

        Raises:
            SecurityError: the token breaks the rules of the mechanism; don't trust this broker.
        """


def exchange(mechanism: str, username: str, password: str, nonce: str) -> Exchange:
    """Start an exchange of one of `MECHANISMS`; `nonce` is random, printable, without commas."""
    if mechanism == "PLAIN":
        return Plain(username, password)
    return Scram(_HASHES[mechanism], username, password, nonce)


class Plain:
    """RFC 4616: name and password in clear text."""

    def __init__(self, username: str, password: str) -> None:
        self._token = f"\0{username}\0{password}".encode()

    def first(self) -> bytes:
        """See `Exchange`."""
        return self._token

    def respond(self, challenge: bytes) -> bytes | None:
        """See `Exchange`."""
        return None


def salted_password(mechanism: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    """Return what a broker keeps of a password for a SCRAM mechanism, before it is hashed."""
    return hashlib.pbkdf2_hmac(_HASHES[mechanism], password, salt, iterations)


class Scram:
    """RFC 5802: the password is not sent, and the broker proves that it knows it."""

    def __init__(self, hash_name: str, username: str, password: str, nonce: str) -> None:
        self._hash_name = hash_name
        self._password = password.encode()
        self._nonce = nonce
        self._bare = f"n={username.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        self._server_signature: bytes | None = None

    def first(self) -> bytes:
        """See `Exchange`."""
        return f"n,,{self._bare}".encode()

    def respond(self, challenge: bytes) -> bytes | None:
        """See `Exchange`."""
        if self._server_signature is None:
            return self._prove(challenge)
        if _fields(challenge).get("v") != base64.b64encode(self._server_signature).decode():
            raise SecurityError("the broker does not know the password")
        return None

    def _prove(self, challenge: bytes) -> bytes:
        fields = _fields(challenge)
        try:
            nonce, iterations = fields["r"], int(fields["i"])
            salt = base64.b64decode(fields["s"], validate=True)
        except (KeyError, ValueError) as error:
            raise SecurityError("cannot parse the broker's SCRAM challenge") from error
        if not nonce.startswith(self._nonce) or iterations < ITERATIONS_MIN:
            raise SecurityError("the broker's SCRAM challenge is not valid")
        salted = hashlib.pbkdf2_hmac(self._hash_name, self._password, salt, iterations)
        without_proof = f"c=biws,r={nonce}"
        signed = b",".join((self._bare.encode(), challenge, without_proof.encode()))
        client_key = self._sign(salted, b"Client Key")
        stored_key = hashlib.new(self._hash_name, client_key).digest()
        signature = self._sign(stored_key, signed)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._server_signature = self._sign(self._sign(salted, b"Server Key"), signed)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def _sign(self, key: bytes, data: bytes) -> bytes:
        return hmac.new(key, data, self._hash_name).digest()


def _fields(token: bytes) -> dict[str, str]:
    """Parse `a=x,b=y` to a dictionary."""
    words = token.decode("utf-8", "replace").split(",")
    return {name: value for name, _, value in (word.partition("=") for word in words)}
