"""One connection's requests and responses as bytes, without the socket.

Each request is sent in the highest version that both sides know (KIP-35). Before the ApiVersions
response only ApiVersions can be sent.
"""

from collections import deque
from collections.abc import Mapping
from struct import Struct
from types import MappingProxyType
from typing import NamedTuple

from client.errors import ConnectionLostError, UnsupportedVersionError, error_name
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, decode_response
from protocol.errors import ErrorCode
from protocol.framing import SIZE_BYTES, FrameError, FrameReader

RESPONSE_BYTES_MAX = 100 * 1024 * 1024
SOFTWARE_NAME = "mock-kafka"
_CORRELATION_ID_MAX = 2**31 - 1
_API_VERSIONS_MAX = 4
"""A later one only names the cluster and the node, which this client does not know at first."""

_FRAME_HEADER = Struct(">ihhih")
_CORRELATION_ID = Struct(">i")


NO_FEATURES_EPOCH = -1


class FinalizedFeatures(NamedTuple):
    """The cluster's features in an ApiVersions response (KIP-584): name and finalized level.

    The epoch rises with every change; NO_FEATURES_EPOCH if the response has none.
    """

    epoch: int
    levels: Mapping[str, int]


NO_FEATURES = FinalizedFeatures(NO_FEATURES_EPOCH, MappingProxyType({}))


class ProtocolCodec:
    """Encode requests to frames; decode responses, which come in the order of the requests."""

    def __init__(self, client_id: str) -> None:
        """`client_id` is sent in every header; client quotas are found by it."""
        self._client_id = client_id.encode()
        self._reader = FrameReader(RESPONSE_BYTES_MAX)
        self._correlation_id = 0
        self._in_flight: deque[tuple[int, ApiKey, int]] = deque()
        self._broker_versions: dict[int, tuple[int, int]] = {}
        self._api_versions_version = 0
        """The version of the last ApiVersions request."""
        self.features = NO_FEATURES
        """The features of the ApiVersions response."""

    def api_versions_request(self, version_max: int = _API_VERSIONS_MAX) -> bytes:
        """Return the ApiVersions request that opens a connection.

        `version_max` is for the second request, after a broker refused the version of the first.
        """
        low, _ = messages.schema_versions(ApiKey.API_VERSIONS)
        request = messages.ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version="1"
        )
        self._api_versions_version = max(low, min(_API_VERSIONS_MAX, version_max))
        return self._frame(ApiKey.API_VERSIONS, self._api_versions_version, request)

    def on_api_versions(self, response: "messages.Message") -> bytes | None:
        """Store the broker's versions; return another request if the first was too new.

        Sources: `NetworkClient.handleApiVersionsResponse`, KIP-511.

        Raises:
            ConnectionLostError: the broker responded with another error; close the connection, and
                open one again after the reconnect backoff.
        """
        assert isinstance(response, messages.ApiVersionsResponse)
        error_code = response.error_code
        refused_version = self._api_versions_version
        is_too_new = error_code == ErrorCode.UNSUPPORTED_VERSION and refused_version > 0
        if error_code != ErrorCode.NONE and not is_too_new:
            raise ConnectionLostError(f"ApiVersions: {error_name(error_code)}")
        versions = {
            api_key.api_key: (api_key.min_version, api_key.max_version)
            for api_key in response.api_keys
        }
        if is_too_new:
            # A broker of Kafka 2.4 or newer says in its refusal which versions it knows.
            known_max = versions.get(ApiKey.API_VERSIONS, (0, 0))[1]
            return self.api_versions_request(min(known_max, refused_version - 1))
        self._broker_versions = versions
        self.features = FinalizedFeatures(
            response.finalized_features_epoch,
            {
                feature.name: feature.max_version_level
                for feature in response.finalized_features or ()
            },
        )
        return None

    def keep_versions_of(self, other: "ProtocolCodec") -> None:
        """Know the versions and features that another connection to the cluster has learned."""
        self._broker_versions = other._broker_versions  # noqa: SLF001
        self.features = other.features

    def version_of(self, api_key: ApiKey) -> int:
        """Return the highest version of an API that both sides know.

        Raises:
            UnsupportedVersionError: there is none.
        """
        low, high = messages.schema_versions(api_key)
        broker_low, broker_high = self._broker_versions.get(api_key, (0, -1))
        version = min(high, broker_high)
        if version < max(low, broker_low):
            raise UnsupportedVersionError(
                f"The broker does not support {api_key.name} in a version that this client knows"
                f" ({low} to {high})."
            )
        return version

    def request(
        self,
        request: "messages.Request[messages.Message]",
        *,
        version_max: int | None = None,
        expects_response: bool = True,
    ) -> bytes:
        """Return the frame of a request, in a version up to `version_max`.

        `expects_response` is False for Produce with acks=0, the one request without a response.

        Raises:
            UnsupportedVersionError: the broker does not speak this API.
        """
        api_key = ApiKey(request.API_KEY)
        version = self.version_of(api_key)
        if version_max is not None:
            version = min(version, version_max)
        return self._frame(api_key, version, request, expects_response=expects_response)

    def feed(self, data: bytes) -> None:
        """Add bytes from the broker, in order."""
        self._reader.feed(data)

    def next_frame(self) -> bytes | None:
        """Return the next response with its size, not decoded, or None while bytes are missing.

        This is for responses to frames that were not made here.

        Raises:
            ConnectionLostError: the size is invalid; close the connection.
        """
        try:
            frame = self._reader.next_frame()
        except FrameError as error:
            raise ConnectionLostError(f"cannot decode the broker's response: {error}") from error
        if frame is None:
            return None
        buffer, start, end = frame
        return bytes(buffer[start - SIZE_BYTES : end])

    def next_response(self) -> "messages.Message | None":
        """Return the response to the oldest request in flight, or None while bytes are missing.

        Raises:
            ConnectionLostError: the bytes are no response to it; close the connection.
        """
        try:
            frame = self._reader.next_frame()
            if frame is None:
                return None
            return self.decode(*frame)
        except (DecodeError, FrameError) as error:
            raise ConnectionLostError(f"cannot decode the broker's response: {error}") from error

    def decode(self, buffer: bytes | bytearray, start: int, end: int) -> "messages.Message":
        """Return the response to the oldest request in flight.

        This is for callers that split the stream themselves: the response is `buffer[start:end]`,
        and its size is before it.

        Raises:
            DecodeError: the bytes are no response to it; close the connection.
        """
        if not self._in_flight:
            raise DecodeError("no request is in flight")
        if end - start < _CORRELATION_ID.size:
            raise DecodeError(f"{end - start} bytes are too few")
        (correlation_id,) = _CORRELATION_ID.unpack_from(buffer, start)
        request_id, api_key, version = self._in_flight.popleft()
        if correlation_id != request_id:
            raise DecodeError(f"correlation id {correlation_id}, not {request_id}")
        frame = memoryview(buffer)[start - SIZE_BYTES : end]
        response: messages.Message = decode_response(frame, api_key, version)
        return response

    def _frame(
        self,
        api_key: ApiKey,
        version: int,
        request: "messages.Request[messages.Message]",
        *,
        expects_response: bool = True,
    ) -> bytes:
        self._correlation_id = self._correlation_id % _CORRELATION_ID_MAX + 1
        if expects_response:
            self._in_flight.append((self._correlation_id, api_key, version))
        body = bytes(request.encode(version=version))
        tags = b"\x00" if messages.is_flexible(api_key, version) else b""
        header = _FRAME_HEADER.pack(
            10 + len(self._client_id) + len(tags) + len(body),
            api_key,
            version,
            self._correlation_id,
            len(self._client_id),
        )
        return b"".join((header, self._client_id, tags, body))
