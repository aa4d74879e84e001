"""What a connection says before its first request: versions (KIP-35), then SASL (KIP-152)."""

import secrets
from collections.abc import Generator
from typing import Any

from client.errors import SecurityError, error_name
from client.protocol_codec import Wire
from client.sasl import exchange
from client.security import SaslSettings
from protocol import messages
from protocol.errors import ErrorCode


def handshake(wire: Wire, settings: SaslSettings | None) -> Generator[bytes, Any, None]:
    """Gives the frames to send, takes the decoded answer to each, and ends when we are in.

    Raises:
        SecurityError: the broker doesn't take the mechanism or the credentials, or isn't ours.
        UnsupportedVersionError: there is no way to talk to it.
    """
    hello: bytes | None = wire.hello()
    while hello is not None:
        hello = wire.learn((yield hello))
    if settings is not None:
        yield from _authenticate(wire, settings)


def _authenticate(wire: Wire, settings: SaslSettings) -> Generator[bytes, Any, None]:
    shaken = yield wire.request(messages.SaslHandshakeRequest(mechanism=settings.mechanism))
    if shaken.error_code != ErrorCode.NONE:
        raise SecurityError(
            f"the broker does not take {settings.mechanism}, only {shaken.mechanisms}"
        )
    speaker = exchange(
        settings.mechanism, settings.username, settings.password, secrets.token_hex(16)
    )
    token: bytes | None = speaker.first()
    while token is not None:
        response = yield wire.request(messages.SaslAuthenticateRequest(auth_bytes=token))
        if response.error_code != ErrorCode.NONE:
            raise SecurityError(response.error_message or error_name(response.error_code))
        token = speaker.respond(bytes(response.auth_bytes))
