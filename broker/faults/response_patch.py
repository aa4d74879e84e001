"""Apply a rule's values to a response frame: decode it, change it, encode it again."""

from collections.abc import Mapping
from typing import Any

from broker.request.context import RequestContext
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.init_producer_id import encode_response, window_of
from protocol.response_patch import apply_patch


def patched_response(context: RequestContext, frame: bytes, patch: Mapping[str, Any]) -> bytes:
    """Return a response frame with the values of a patch that was checked for its API."""
    api_key = ApiKey(context.api_key)
    message = codec.decode_response(frame, api_key, context.api_version)
    # ApiVersions responds to an unknown version in version 0.
    version = int(message.version)
    apply_patch(message, version, patch)
    response = message
    if api_key is ApiKey.INIT_PRODUCER_ID:
        response = encode_response(message, version, window_of(message))
    return codec.encode_response(context.correlation_id, api_key, version, response)
