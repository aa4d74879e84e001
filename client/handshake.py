"""The requests that open a connection: ApiVersions (KIP-35), then SASL (KIP-152)."""

import secrets
from collections.abc import Generator

from client.errors import SecurityError, error_name
from client.protocol_codec import ProtocolCodec
from client.sasl import exchange
from client.security import SaslSettings
from protocol import messages
from protocol.errors import ErrorCode


class Handshake:
    """Frames to send before all others, each after the response to the one before; no I/O."""

    def __init__(self, codec: ProtocolCodec, settings: SaslSettings | None) -> None:
        self._frames = _frames(codec, settings)

    def first_frame(self) -> bytes:
        """Return the ApiVersions request."""
        return next(self._frames)

    def next_frame(self, response: "messages.Message") -> bytes | None:
        """Take the decoded response to the last frame; return the next frame, or None at the end.

        At the end the connection is authenticated.

        Raises:
            SecurityError: the broker refuses the mechanism or the credentials, or fails to prove
                that it knows the password (SCRAM).
            UnsupportedVersionError: there is no common version.
        """
        try:
            return self._frames.send(response)
        except StopIteration:
            return None


def _frames(
    codec: ProtocolCodec, settings: SaslSettings | None
) -> Generator[bytes, "messages.Message", None]:
    frame: bytes | None = codec.api_versions_request()
    while frame is not None:
        frame = codec.on_api_versions((yield frame))
    if settings is not None:
        yield from _authenticate(codec, settings)


def _authenticate(
    codec: ProtocolCodec, settings: SaslSettings
) -> Generator[bytes, "messages.Message", None]:
    handshake_response = yield codec.request(
        messages.SaslHandshakeRequest(mechanism=settings.mechanism)
    )
    assert isinstance(handshake_response, messages.SaslHandshakeResponse)
    if handshake_response.error_code != ErrorCode.NONE:
        raise SecurityError(
            f"the broker supports {handshake_response.mechanisms}, not {settings.mechanism}"
        )
    mechanism = exchange(
        settings.mechanism, settings.username, settings.password, secrets.token_hex(16)
    )
    token: bytes | None = mechanism.first()
    while token is not None:
        response = yield codec.request(messages.SaslAuthenticateRequest(auth_bytes=token))
        assert isinstance(response, messages.SaslAuthenticateResponse)
        if response.error_code != ErrorCode.NONE:
            raise SecurityError(response.error_message or error_name(response.error_code))
        token = mechanism.respond(bytes(response.auth_bytes))
