"""An OAuth provider for tests: keys, and tokens that it signs."""

import json
import warnings
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

ISSUER = "https://provider.test"
AUDIENCE = "kafka"


@cache
def private_key(key_id: str, key_type: str = "RSA", bits: int = 2048) -> Any:
    if key_type == "EC":
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def public_key(key_id: str, key_type: str = "RSA", bits: int = 2048, **fields: Any) -> Any:
    algorithm = jwt.algorithms.ECAlgorithm if key_type == "EC" else jwt.algorithms.RSAAlgorithm
    key = json.loads(algorithm.to_jwk(private_key(key_id, key_type, bits).public_key()))
    key.pop("key_ops", None)
    return {**key, "kid": key_id, **fields}


def key_set(*keys: Any) -> bytes:
    return json.dumps({"keys": list(keys)}).encode()


def signed(
    claims: Any, key_id: str = "one", algorithm: str = "RS256", *, bits: int = 2048, **header: Any
) -> str:
    key_type = "EC" if algorithm.startswith("ES") else "RSA"
    headers = {"kid": key_id, **header}
    headers = {name: value for name, value in headers.items() if value is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of short keys
        return jwt.encode(claims, private_key(key_id, key_type, bits), algorithm, headers=headers)
