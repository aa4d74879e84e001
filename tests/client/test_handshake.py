"""The handshake without a connection; test_transport and test_broker_connection have one."""

from typing import Any

import pytest

from client.errors import SecurityError
from client.handshake import Handshake
from client.protocol_codec import ProtocolCodec
from client.security import SaslSettings
from protocol import messages
from protocol.api_keys import ApiKey

PLAIN = SaslSettings("PLAIN", "alice", "secret")


def versions() -> Any:
    response = messages.ApiVersionsResponse
    keys = (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
    return response(
        version=3,
        error_code=0,
        api_keys=[response.ApiVersion(api_key=key, min_version=0, max_version=1) for key in keys],
    )


def outcome(handshake: Handshake, *responses: Any) -> int:
    """Return the number of frames of a complete handshake."""
    handshake.first_frame()
    for count, response in enumerate(responses, start=1):
        if handshake.next_frame(response) is None:
            return count
    raise AssertionError("it goes on")


def test_without_sasl_the_handshake_is_api_versions_only() -> None:
    assert outcome(Handshake(ProtocolCodec("me"), None), versions()) == 1


def test_sasl_follows_the_versions() -> None:
    shaken = messages.SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"])
    done = messages.SaslAuthenticateResponse(error_code=0, auth_bytes=b"")
    assert outcome(Handshake(ProtocolCodec("me"), PLAIN), versions(), shaken, done) == 3


def test_an_unsupported_mechanism_is_an_error_that_names_the_supported_ones() -> None:
    shaken = messages.SaslHandshakeResponse(error_code=33, mechanisms=["SCRAM-SHA-256"])
    with pytest.raises(SecurityError, match="SCRAM-SHA-256"):
        outcome(Handshake(ProtocolCodec("me"), PLAIN), versions(), shaken)


def test_refused_credentials_are_a_security_error() -> None:
    shaken = messages.SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"])
    refused = messages.SaslAuthenticateResponse(
        error_code=58, error_message="not you", auth_bytes=b""
    )
    with pytest.raises(SecurityError, match="not you"):
        outcome(Handshake(ProtocolCodec("me"), PLAIN), versions(), shaken, refused)
