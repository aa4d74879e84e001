"""SASL messages as a client sends them."""

import base64
import hashlib
import hmac
import json
from typing import Any

from broker.security.scram import (
    HASHES,
)


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def initial(claims: Any, *, header: Any = None, signature: str = "", authzid: str = "") -> bytes:
    token = f"{encoded(header or {'alg': 'none'})}.{encoded(claims)}.{signature}"
    gs2 = f"n,a={authzid}," if authzid else "n,,"
    return f"{gs2}\x01auth=Bearer {token}\x01traceId=1\x01\x01".encode()


def response(challenge: bytes, first: str, password: str, mechanism: str) -> bytes:
    """A client's final message, made independently of the server's code."""
    hash_name = HASHES[mechanism]
    fields = dict(part.split("=", 1) for part in challenge.decode().split(","))
    salted = hashlib.pbkdf2_hmac(
        hash_name, password.encode(), base64.b64decode(fields["s"]), int(fields["i"])
    )
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    gs2 = base64.b64encode(first[: first.index("n=")].encode()).decode()
    unproved = f"c={gs2},r={fields['r']}"
    signed = f"{first[first.index('n=') :]},{challenge.decode()},{unproved}".encode()
    signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), signed, hash_name)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return f"{unproved},p={base64.b64encode(proof).decode()}".encode()
