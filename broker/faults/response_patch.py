"""Put a rule's values into a response frame: decode it, change it, encode it again."""

from collections.abc import Mapping
from typing import Any

from broker.faults.partial_errors import encoded
from broker.request.context import RequestContext
from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.init_producer_id import encode_response, window_of
from protocol.json_view import decode_response_frame
from protocol.response_patch import apply_patch


def patched_response(context: RequestContext, frame: bytes, patch: Mapping[str, Any]) -> bytes:
    """Return a response frame with the values of a patch that was checked for its API."""
    api_key = ApiKey(context.api_key)
    message = decode_response_frame(frame, api_key, context.api_version)
    # ApiVersions responds to an unknown version in version 0.
    version = int(message.version)
    apply_patch(message, version, patch)
    body = encoded(message, version)
    if api_key is ApiKey.INIT_PRODUCER_ID:
        body = encode_response(message, version, window_of(message))
    is_flexible = messages.is_flexible(api_key, version) and api_key is not ApiKey.API_VERSIONS
    return codec.frame_response(context.correlation_id, body, has_tagged_header=is_flexible)
