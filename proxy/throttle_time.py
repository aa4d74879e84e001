"""The throttle time in a response of the cluster."""

from broker.request.context import RequestContext
from protocol import codec, messages
from protocol.api_keys import ApiKey

THROTTLE_TIME_BYTES = 4


def with_throttle_time(context: RequestContext, frame: bytes) -> bytes:
    """Return a response with the longer throttle time: that of the cluster, or the proxy's."""
    key, version = ApiKey(context.api_key), context.api_version
    if not messages.has_throttle_time(key, version):
        return frame
    if messages.begins_with_throttle(key, version):
        start = codec.response_body_start(key, version)
        end = start + THROTTLE_TIME_BYTES
        throttle_time_ms = max(int.from_bytes(frame[start:end]), context.throttle_time_ms)
        return frame[:start] + throttle_time_ms.to_bytes(THROTTLE_TIME_BYTES) + frame[end:]
    response = codec.decode_response(frame, key, version)
    response.throttle_time_ms = max(response.throttle_time_ms, context.throttle_time_ms)
    return codec.encode_response(context.correlation_id, key, version, response)
