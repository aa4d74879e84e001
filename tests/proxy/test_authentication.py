import base64
import json

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_request, encode_response
from proxy.authentication import Authentication, user_in


def jwt(claims: object) -> bytes:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    return b"n,,\x01auth=Bearer e30." + body + b".\x01\x01"


@pytest.mark.parametrize(
    ("mechanism", "token", "user"),
    [
        ("PLAIN", b"\0alice\0secret", "alice"),
        ("PLAIN", b"alice", None),
        ("SCRAM-SHA-256", b"n,,n=a=2Cb=3Dc,r=nonce", "a,b=c"),
        ("SCRAM-SHA-512", b"n,,r=nonce", None),
        ("OAUTHBEARER", jwt({"sub": "bob"}), "bob"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer x.\xff.\x01", None),
        ("GSSAPI", b"\x60\x82", None),
    ],
)
def test_the_first_token_names_the_user(mechanism: str, token: bytes, user: str | None) -> None:
    assert user_in(mechanism, token) == user


class Client:
    """Sends requests of authentication, and has the broker's answers read."""

    def __init__(self) -> None:
        self.users: list[str] = []
        self.authentication = Authentication(self.users.append)

    def handshake(self, mechanism: str, error_code: int = 0) -> None:
        request = messages.SaslHandshakeRequest(mechanism=mechanism)
        key = ApiKey.SASL_HANDSHAKE
        self.authentication.note_request(encode_request(1, "client", key, 1, request))
        response = messages.SaslHandshakeResponse(error_code=error_code, mechanisms=[])
        self.authentication.note_response(key, 1, encode_response(1, key, 1, response))

    def authenticate(self, token: bytes, error_code: int = 0) -> None:
        key = ApiKey.SASL_AUTHENTICATE
        request = messages.SaslAuthenticateRequest(auth_bytes=token)
        self.authentication.note_request(encode_request(2, "client", key, 2, request))
        response = messages.SaslAuthenticateResponse(
            error_code=error_code, error_message=None, auth_bytes=b"", session_lifetime_ms=0
        )
        self.authentication.note_response(key, 2, encode_response(2, key, 2, response))


def test_the_user_is_known_once_the_broker_has_accepted_the_password() -> None:
    client = Client()
    client.handshake("PLAIN")
    assert not client.authentication.takes_raw_tokens
    client.authenticate(b"\0alice\0secret")
    assert client.users == ["alice"]


def test_a_refused_password_names_nobody() -> None:
    client = Client()
    client.handshake("PLAIN")
    client.authenticate(b"\0alice\0wrong", error_code=58)
    assert client.users == []


def test_scram_needs_two_tokens_and_a_client_may_authenticate_again() -> None:
    client = Client()
    for name in ("alice", "bob"):
        client.handshake("SCRAM-SHA-256")
        client.authenticate(f"n,,n={name},r=x".encode())
        assert client.users[-1:] != [name]
        client.authenticate(b"c=biws,r=x,p=y")
    assert client.users == ["alice", "bob"]


def test_bytes_that_are_no_request_are_left_to_the_broker() -> None:
    client = Client()
    client.authentication.note_request(b"\0\x11\0\1\0\0\0\1\xff\xff\0\x7f")
    client.authentication.note_response(ApiKey.SASL_AUTHENTICATE, 1, b"\0\0\0\4\0\0\0\1")
    assert client.users == []


def test_a_request_ends_the_tokens_without_headers() -> None:
    authentication = Authentication(lambda _name: None)
    assert authentication.is_token(b"\0a\0b", 0, 4)  # the first frame is one in any case
    authentication.note_token(b"\0a\0b")
    assert authentication.is_token(b"c=biws", 0, 6)
    assert authentication.is_token(b"", 0, 0)
    assert not authentication.is_token(b"\0\3\0\0", 0, 4)
