"""A request of a client, with the response of the real cluster and that of our broker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, decode_header, decode_response, encode_request
from protocol.json_view import decode_request_frame
from protocol.message_schema import schema_of
from proxy.diff.message_values import as_values

CLOSED = {"connection": "closed"}
"""Our broker has closed the connection instead of a response."""
SILENT = {"connection": "no response"}


@dataclass(eq=False)
class PlayedRequest:
    """One request; `frame` and `real` are without the size in front of them.

    `real` and `ours` are None before there are responses. `ours` may be `CLOSED` or `SILENT`.
    """

    frame: bytes
    received_ms: int
    real: bytes | None = None
    ours: bytes | dict[str, str] | None = None
    is_overdue: bool = False
    """Whether it has waited long enough for what should come before it."""
    is_parked: bool = False
    """Whether it waits for batches that come before it."""
    answered_ms: int = 0
    header: Any = field(init=False)

    def __post_init__(self) -> None:
        self.header = decode_header(self.frame, 0, len(self.frame))

    @property
    def correlation_id(self) -> int:
        """The id by which the response names its request."""
        correlation_id: int = self.header.correlation_id
        return correlation_id

    @cached_property
    def api_key(self) -> ApiKey | None:
        """The API; None if it, or its version, has no schema here."""
        try:
            api_key = ApiKey(self.header.api_key)
        except ValueError:
            return None
        if api_key not in messages.API_NAMES:
            return None
        low, high = messages.schema_versions(api_key)
        return api_key if low <= self.header.api_version <= high else None

    @property
    def api(self) -> str:
        """Kafka's name of the API, or its number."""
        key = self.api_key
        return str(self.header.api_key) if key is None else messages.API_NAMES[key]

    @cached_property
    def request(self) -> Any:
        """The decoded request, with the ids of the real cluster; None if it is malformed."""
        try:
            return decode_request_frame(self.frame)
        except DecodeError:
            return None

    @cached_property
    def arguments(self) -> Mapping[str, Any]:
        """The fields of the request, with the ids of the real cluster."""
        version = self.header.api_version
        return {} if self.request is None else as_values(self.request, version)

    @cached_property
    def real_response(self) -> Any:
        """The decoded response of the real cluster; None if it is malformed or there is none."""
        return None if self.real is None else self._decoded(self.real)

    @property
    def has_response(self) -> bool:
        """Whether the cluster responds to it: not to Produce with acks=0."""
        is_produce = self.api_key is ApiKey.PRODUCE and self.request is not None
        return not (is_produce and self.request.acks == 0)

    def frame_of(self, request: Any) -> bytes:
        """Return the frame of another request, under the header of this one."""
        header = self.header
        assert self.api_key is not None
        return encode_request(
            header.correlation_id, header.client_id or "", self.api_key, header.api_version, request
        )

    def values_of(self, answer: bytes | dict[str, str] | None) -> Any:
        """Return the fields of a response, or what there is instead."""
        if answer is None or isinstance(answer, dict):
            return answer
        response = self._decoded(answer)
        if response is None:
            return {"undecodable": "response", "hex": answer[:200].hex()}
        return as_values(response, response.version)

    def _decoded(self, frame: bytes) -> Any:
        assert self.api_key is not None
        try:
            return decode_response(b"\0\0\0\0" + frame, self.api_key, self.header.api_version)
        except DecodeError:
            return None


def error_codes(message: Any) -> set[int]:
    """Return all error codes in a decoded response, also 0."""
    found: set[int] = set()
    for name, schema in schema_of(message).fields.items():
        value = getattr(message, name, None)
        if value is None or not schema.for_version_q(message.version):
            continue
        if name.endswith("error_code"):
            found.add(value)
        elif schema.is_struct_array():
            for element in value:
                found |= error_codes(element)
        elif schema.is_struct():
            found |= error_codes(value)
    return found
