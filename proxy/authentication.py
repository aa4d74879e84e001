"""Read SASL as it passes by, to know the user: the broker alone decides who that is.

The user is known when the broker has accepted the last token. Sources: Kafka's
`SaslServerAuthenticator` and `SaslClientAuthenticator`; KIP-152 for tokens without headers.
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import Callable

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import (
    DecodeError,
    decode_header,
    decode_request,
    decode_response,
    skip_tagged_fields,
)
from protocol.errors import ErrorCode

AUTHENTICATION_APIS = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
_SCRAM = "SCRAM"
_SCRAM_TOKENS = 2
_MESSAGE_KEY_BYTE = 0
"""The first byte of a request's header: API keys are below 256."""


class Authentication:
    """The SASL exchanges of one connection."""

    def __init__(self, on_user: Callable[[str], None]) -> None:
        """`on_user` gets the name that the broker has accepted, also after another one."""
        self._on_user = on_user
        self.takes_raw_tokens = False
        """Whether the next request may be a token without a header (SaslHandshake v0)."""
        self._mechanism = ""
        self._version = 0
        """That of the last request."""
        self._user: str | None = None
        """The user in the tokens of the exchange."""
        self._token_count = 0

    def is_token(self, data: bytes | bytearray, start: int, end: int) -> bool:
        """Return whether a frame without its size is a token, and no request after the last one.

        A token that is not the first one does not begin as a request does.
        """
        return not self._token_count or start == end or data[start] != _MESSAGE_KEY_BYTE

    def note_request(self, frame: bytes) -> None:
        """Read SaslHandshake or SaslAuthenticate, a frame without its size."""
        try:
            header = decode_header(frame, 0, len(frame))
            key, start = ApiKey(header.api_key), header.end
            self._version = header.api_version
            if messages.is_flexible(key, header.api_version):
                start = skip_tagged_fields(frame, start, len(frame))
            request = decode_request(key, header.api_version, frame, start, len(frame))
        except (DecodeError, ValueError):
            return  # the broker says so
        if key is ApiKey.SASL_HANDSHAKE:
            self._begin(request.mechanism)
        else:
            self.note_token(bytes(request.auth_bytes))

    def note_token(self, token: bytes) -> None:
        """Read a token of the client."""
        self._token_count += 1
        if self._token_count == 1:
            self._user = user_in(self._mechanism, token)

    def note_response(self, api_key: int, correlation_id: int | None, frame: bytes) -> None:
        """Read the response to the last request, a frame with its size."""
        is_accepted = True
        if correlation_id is not None:
            try:
                response = decode_response(frame, ApiKey(api_key), self._version)
            except (DecodeError, ValueError):
                return
            is_accepted = response.error_code == ErrorCode.NONE
        if api_key == ApiKey.SASL_HANDSHAKE:
            self.takes_raw_tokens = is_accepted and self._version == 0
            return
        is_last = not self._mechanism.startswith(_SCRAM) or self._token_count == _SCRAM_TOKENS
        if is_accepted and is_last:
            if self._user is not None:
                self._on_user(self._user)
            self._token_count = max(1, self._token_count)

    def _begin(self, mechanism: str) -> None:
        self._mechanism, self._user, self._token_count = mechanism, None, 0


def user_in(mechanism: str, token: bytes) -> str | None:
    """Return the user that the first token of a mechanism names; None if it is not known."""
    try:
        if mechanism == "PLAIN":
            return token.split(b"\0")[1].decode()
        if mechanism.startswith(_SCRAM):
            fields = dict(part.split("=", 1) for part in token.decode().split(",") if "=" in part)
            return fields["n"].replace("=2C", ",").replace("=3D", "=")
        if mechanism == "OAUTHBEARER":
            claims = token.partition(b"Bearer ")[2].split(b"\x01")[0].split(b".")[1]
            padded = claims + b"=" * (-len(claims) % 4)
            user: str = json.loads(urlsafe_b64decode(padded))["sub"]
            return user
    except (IndexError, KeyError, UnicodeDecodeError, ValueError):
        return None
    return None
