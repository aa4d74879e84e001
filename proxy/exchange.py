"""The requests and responses of one client's connection to a broker, without I/O.

Bytes come in from either side, and go out to the other. Of a request only the header is read, and
of a response its size, unless it has addresses of brokers or somebody waits for it. Responses come
in the order of their requests, so each is known by its place.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from protocol.api_keys import ApiKey
from protocol.codec import DecodeError
from protocol.framing import SIZE_BYTES, UNEXPECTED_TLS
from proxy.authentication import AUTHENTICATION_APIS, Authentication
from proxy.request_head import HEAD, IncompleteError, has_response
from proxy.rewritten_response import STREAMED_APIS, StreamedResponse, has_addresses

_RESPONSE_HEAD = Struct(">ii")
_HEADER_BYTES_MIN = HEAD.size - SIZE_BYTES
_TLS_RECORDS = 0x1603, 0x1503
READ_BYTES_MAX = 1 << 20
"""A longer request of authentication is passed on unread: brokers refuse it."""
HEAD_BYTES_MAX = 1 << 17
"""As much of a Produce request is kept to find its acks: two strings of 32 KiB are before them."""
WAITING_REQUESTS_MAX = 10_000
"""With more requests without a response nothing more is read: brokers answer one after the other,
and what is known of each takes more memory than the request."""

Deliver = Callable[[bytes], None]
"""Takes the frame of a response, with its size."""


class EndError(Exception):
    """The connection has to end; the message says why."""


class ResponseKind(IntEnum):
    """What happens to a response on its way to the client."""

    PASSED = 0
    """It is passed on as it comes."""
    CHANGED = 1
    """It is read as a whole, and may be changed."""
    STREAMED = 2
    """It is changed while it is passed on, if it comes in parts."""
    AUTHENTICATION = 3
    """It is read, to know the user."""
    LOOKED_AT = 4
    """Its request is not passed on, but looked at in any case."""


LOOKED_AT_APIS = frozenset({ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.ALTER_CLIENT_QUOTAS})
"""Some quotas are those of the proxy, and a tool may set the first one."""


class Expected(NamedTuple):
    """A response that is not only passed on; `deliver` gets it in place of the client.

    That to a SASL token without a header has no correlation id.
    """

    kind: ResponseKind
    correlation_id: int | None
    api_key: int
    api_version: int
    deliver: Deliver | None


Change = Callable[[Expected, bytes], bytes]
"""Returns what the client gets for a response of `CHANGED`; may raise DecodeError."""

_KINDS: dict[int, ResponseKind] = {}
_CHANGED = frozenset({ResponseKind.CHANGED, ResponseKind.STREAMED})


def kind_of(api_key: int, api_version: int) -> ResponseKind:
    """Return what happens to the responses of an API.

    Raises:
        EndError: its addresses are in places that the proxy does not know.
    """
    number = api_key << 16 | api_version
    kind = _KINDS.get(number)
    if kind is None:
        kind = _KINDS[number] = _kind_of(api_key, api_version)
    return kind


def _kind_of(api_key: int, api_version: int) -> ResponseKind:
    if api_key in AUTHENTICATION_APIS:
        return ResponseKind.AUTHENTICATION
    if api_key == ApiKey.API_VERSIONS:
        return ResponseKind.CHANGED
    if api_key in LOOKED_AT_APIS:
        return ResponseKind.LOOKED_AT
    try:
        if not has_addresses(api_key, api_version):
            return ResponseKind.PASSED
    except DecodeError as error:
        raise EndError(str(error)) from None
    return ResponseKind.STREAMED if api_key in STREAMED_APIS else ResponseKind.CHANGED


class Exchange:
    """The state machine of both directions."""

    __slots__ = (
        "_change",
        "_collected",
        "_expected",
        "_frame_bytes_max",
        "_request_head",
        "_request_left",
        "_requests",
        "_response",
        "_response_head",
        "_response_left",
        "_stream",
        "authentication",
        "meets_looked_at",
    )

    def __init__(
        self,
        change: Change,
        authentication: Authentication,
        frame_bytes_max: int,
        requests: defaultdict[int, int],
    ) -> None:
        """`frame_bytes_max` bounds requests, as `socket.request.max.bytes`.

        It also bounds the responses that are read as a whole. `requests` has how many were sent,
        by API key.
        """
        self._requests = requests
        self._change = change
        self.authentication = authentication
        self._frame_bytes_max = frame_bytes_max
        self._expected: deque[int | Expected] = deque()
        """A correlation id stands for a response that is passed on."""
        self._request_head = b""
        """The beginning of a request that is kept until enough of it is there."""
        self._request_left = 0
        """Bytes of a request that has been passed on in part."""
        self.meets_looked_at = False
        """Whether the request that was not passed on has to be looked at."""
        self._response_head = b""
        self._response_left = 0
        """Bytes that are left of the response that arrives now."""
        self._response: Expected | None = None
        """The response that arrives now, if it is not only passed on."""
        self._collected: list[bytes] = []
        self._stream: StreamedResponse | None = None

    @property
    def is_idle(self) -> bool:
        """Whether every request has its response, and the last of them is complete."""
        return not (
            self._expected or self._request_left or self._request_head or self._response_left
        )

    @property
    def is_waiting(self) -> bool:
        """Whether the client waits for a response."""
        return bool(self._expected) or self._response_left > 0

    @property
    def is_full(self) -> bool:
        """Whether so many requests wait for responses that no more should be read."""
        return len(self._expected) > WAITING_REQUESTS_MAX

    # Requests ------------------------------------------------------------------------------------

    def finish_request(self, data: bytes) -> tuple[bytes, bytes]:
        """Take bytes of the client; return the rest of a request begun, and what is behind it."""
        self.meets_looked_at = False
        left = self._request_left
        if not left:
            head, self._request_head = self._request_head, b""
            return b"", head + data
        self._request_left = max(0, left - len(data))
        return data[:left], data[left:]

    def pass_requests(self, data: bytes) -> bytes:
        """Take bytes of the client; return those for the broker.

        It stops before a request that has to be looked at; `finish_request` then returns the rest.

        Raises:
            EndError: they are no requests, or one that cannot be passed on.
        """
        position, size_bytes = self._request_left, len(data)
        if position >= size_bytes:
            self._request_left = position - size_bytes
            return data
        if self._request_head:
            data, self._request_head = self._request_head + data, b""
            size_bytes = len(data)
        while size_bytes - position >= SIZE_BYTES:
            end = position + SIZE_BYTES + self._size(data, position)
            if not self._expect(data, position, end):
                break
            position = end
            if position >= size_bytes:
                self._request_left = position - size_bytes
                return data
        self._request_left = 0
        self._request_head = data[position:]
        return data[:position]

    def _size(self, data: bytes, position: int) -> int:
        size = int.from_bytes(data[position : position + SIZE_BYTES], signed=True)
        if 0 <= size <= self._frame_bytes_max:
            return size
        if size >> 16 in _TLS_RECORDS:
            raise EndError(UNEXPECTED_TLS)
        if size < 0:
            raise EndError(f"frame of negative size {size}")
        bound = f"socket.request.max.bytes ({self._frame_bytes_max})"
        raise EndError(f"frame of {size} bytes is larger than {bound}")

    def _expect(self, data: bytes, start: int, end: int) -> bool:
        """Expect the response to a request; return False if too little of it is there."""
        authentication = self.authentication
        if authentication.takes_raw_tokens:
            if len(data) < min(end, start + SIZE_BYTES + 1):
                return False
            if authentication.is_token(data, start + SIZE_BYTES, end):
                if end - start > READ_BYTES_MAX:
                    raise EndError(f"a SASL token of {end - start - SIZE_BYTES} bytes is too long")
                if end > len(data):
                    return False
                self._expect_token(data[start + SIZE_BYTES : end], None)
                return True
            authentication.takes_raw_tokens = False
        if end - start < HEAD.size:
            raise EndError(
                f"frame of {end - start - SIZE_BYTES} bytes is too short for a request header"
            )
        if len(data) - start < HEAD.size:
            return False
        try:
            return self._expect_response(data, start, end)
        except IncompleteError:
            if end > len(data) and len(data) - start < HEAD_BYTES_MAX:
                return False
            raise EndError("undecodable PRODUCE: its acks are not where they have to be") from None

    def _expect_response(self, data: bytes, start: int, end: int) -> bool:
        _, key, version, correlation_id, _ = HEAD.unpack_from(data, start)
        kind = kind_of(key, version)
        if key == ApiKey.PRODUCE and not has_response(data, start, min(end, len(data)), version):
            self._requests[key] += 1
            return True
        is_read = end - start <= READ_BYTES_MAX or kind is not ResponseKind.AUTHENTICATION
        if kind is ResponseKind.PASSED or not is_read:
            self._requests[key] += 1
            self._expected.append(correlation_id)
            return True
        if kind is ResponseKind.LOOKED_AT:
            self.meets_looked_at = True
            return False
        if kind is ResponseKind.AUTHENTICATION:
            if end > len(data):
                return False
            self.authentication.note_request(data[start + SIZE_BYTES : end])
        self._requests[key] += 1
        self._expected.append(Expected(kind, correlation_id, key, version, None))
        return True

    def send(self, frame: bytes, deliver: Deliver | None) -> bytes:
        """Return the bytes of a request, a frame without its size, that somebody looks at.

        `deliver` gets its response as a frame with its size, changed for the client; None if it has
        none.

        Raises:
            EndError: it cannot be passed on.
        """
        data = len(frame).to_bytes(SIZE_BYTES) + frame
        _, key, version, correlation_id, _ = HEAD.unpack_from(data)
        self._requests[key] += 1
        if deliver is not None:
            kind = kind_of(key, version)
            if kind is ResponseKind.AUTHENTICATION:
                self.authentication.note_request(frame)
            self._expected.append(Expected(kind, correlation_id, key, version, deliver))
        return data

    def send_token(self, token: bytes, deliver: Deliver) -> bytes:
        """Return the bytes of a SASL token without a header; see `send`."""
        self._expect_token(token, deliver)
        return len(token).to_bytes(SIZE_BYTES) + token

    def _expect_token(self, token: bytes, deliver: Deliver | None) -> None:
        self.authentication.note_token(token)
        key = ApiKey.SASL_AUTHENTICATE
        self._expected.append(Expected(ResponseKind.AUTHENTICATION, None, key, 0, deliver))

    # Responses -----------------------------------------------------------------------------------

    def take_responses(self, data: bytes) -> list[bytes]:
        """Take bytes of the broker; return those for the client, and deliver the others.

        Raises:
            EndError: they are no responses to what was sent.
        """
        if self._response_head:
            data, self._response_head = self._response_head + data, b""
        out: list[bytes] = []
        begin, position, size_bytes = 0, 0, len(data)
        if self._response_left:
            position = min(self._response_left, size_bytes)
            self._response_left -= position
            if self._response is not None:
                self._take_part(data[:position], out)
                begin = position
        while size_bytes - position >= SIZE_BYTES:
            size = int.from_bytes(data[position : position + SIZE_BYTES], signed=True)
            end = position + SIZE_BYTES + size
            if size >= SIZE_BYTES and size_bytes - position < _RESPONSE_HEAD.size:
                break
            expected = self._next_expected(data, position, size)
            stop = min(end, size_bytes)
            self._response_left = end - stop
            if expected is not None:
                if position > begin:
                    out.append(data[begin:position])
                self._begin(expected, end - position)
                self._take_part(data[position:stop], out)
                begin = stop
            position = stop
        if position < size_bytes:
            self._response_head = data[position:]
        if position > begin:
            out.append(data if position - begin == size_bytes else data[begin:position])
        return out

    def _next_expected(self, data: bytes, position: int, size: int) -> Expected | None:
        """Return what is expected of the next response; None to pass it on."""
        if not self._expected:
            raise EndError("the broker sent bytes that are no response to a request")
        expected = self._expected.popleft()
        read = None if isinstance(expected, int) else expected
        correlation_id = expected if isinstance(expected, int) else expected.correlation_id
        if correlation_id is None and size >= 0:
            return read
        if size < SIZE_BYTES or _RESPONSE_HEAD.unpack_from(data, position)[1] != correlation_id:
            raise EndError(
                "what the broker sent is no response to the request: --to must name a Kafka broker,"
                " and security.protocol of --to-config has to be that of its port"
            )
        return read

    def _begin(self, expected: Expected, frame_bytes: int) -> None:
        self._response = expected
        self._collected = []
        self._stream = None
        is_read = expected.deliver is not None or expected.kind is not ResponseKind.STREAMED
        if is_read and frame_bytes > self._frame_bytes_max:
            bound = f"socket.request.max.bytes ({self._frame_bytes_max})"
            raise EndError(f"a response of {frame_bytes} bytes is larger than {bound}")
        has_parts = expected.deliver is None and self._response_left > 0
        if has_parts and expected.kind is ResponseKind.STREAMED:
            key = ApiKey(expected.api_key)
            self._stream = StreamedResponse(key, expected.api_version, frame_bytes)

    def _take_part(self, part: bytes, out: list[bytes]) -> None:
        """Take bytes of the response that arrives now; at its end deliver it, or change it."""
        expected = self._response
        assert expected is not None
        if self._stream is not None:
            out.append(self._stream.pass_on(part))
        else:
            self._collected.append(part)
        if self._response_left:
            return
        self._response = None
        if self._stream is not None:
            self._stream = None
            return
        frame, self._collected = b"".join(self._collected), []
        if expected.kind is ResponseKind.AUTHENTICATION:
            self.authentication.note_response(expected.api_key, expected.correlation_id, frame)
        elif expected.kind in _CHANGED:
            try:
                frame = self._change(expected, frame)
            except (DecodeError, UnicodeDecodeError) as error:
                name, version = ApiKey(expected.api_key).name, expected.api_version
                raise EndError(f"undecodable response to {name} v{version}: {error}") from error
        if expected.deliver is None:
            out.append(frame)
        else:
            expected.deliver(frame)
