"""Feed a `Recorder` with the requests and responses that pass through a proxy."""

from typing import TYPE_CHECKING, Any

from broker.request.context import RequestContext
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, decode_response
from protocol.json_view import decode_request_frame
from proxy.recording.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable


class RecordingObserver:
    """An observer of the requests that the cluster behind a proxy has got."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._see: dict[int, Callable[[Any, Any], None]] = {
            ApiKey.PRODUCE: recorder.see_produce,
            ApiKey.FETCH: recorder.see_fetch,
            ApiKey.END_TXN: recorder.see_end_txn,
        }

    def __call__(self, context: RequestContext, request: bytes, frame: bytes | None) -> None:
        """Record a request without its size, and the frame of its response; None without one."""
        api_key, version = ApiKey(context.api_key), context.api_version
        try:
            decoded = decode_request_frame(request)
        except DecodeError:
            decoded = None  # the cluster refuses it, and it was asked nevertheless
        self._recorder.see_request(api_key, version, decoded, f"User:{context.principal}")
        see = self._see.get(api_key)
        if see is None or frame is None or decoded is None:
            return
        try:
            response = decode_response(frame, api_key, version)
        except DecodeError:
            return
        see(decoded, response)
