"""A request that a quota may refuse in part, and how it reaches the cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.responses import Close, CompletedResponse, DispatchResult
from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause
from proxy.follow_up import follow_up

Send = Callable[[bytes], DispatchResult]
"""Sends the frame of a request, without its size; the response is a frame with its size."""


@dataclass(frozen=True, slots=True)
class QuotaRequest:
    """One request of a client; `head` is its header, `body` the rest of its frame."""

    context: RequestContext
    head: bytes
    body: bytes
    cluster: Cluster
    send: Send
    probe: Send
    """Sends a question of the proxy itself, which no observer sees."""

    @property
    def api_key(self) -> ApiKey:
        """The API of the request."""
        return ApiKey(self.context.api_key)

    @property
    def now_ms(self) -> int:
        """The time of a response that arrives now."""
        return max(self.context.now_ms, self.cluster.timers.latest_ms)

    @may_pause
    def decoded(self) -> Any:
        """Return the request; each call returns another object.

        Raises:
            DecodeError: it is malformed.
        """
        version = self.context.api_version
        return codec.decode_request(self.api_key, version, self.body, 0, len(self.body))

    def pass_on(self) -> DispatchResult:
        """Send the request as it is."""
        return self.send(self.head + self.body)

    @may_pause
    def send_changed(self, request: "messages.Message") -> DispatchResult:
        """Send a changed message in place of the request."""
        return self.send(self.head + codec.encode_message(request, self.context.api_version))

    @may_pause
    def send_rest(
        self, request: "messages.Message", go_on: Callable[[Any], "messages.Message"]
    ) -> DispatchResult:
        """Send what is left of the request; `go_on` makes the client's response of the cluster's.

        `go_on` gets and returns a message.
        """
        context = self.context

        def answer(response: CompletedResponse) -> DispatchResult:
            if not isinstance(response, bytes):
                return response
            message = codec.decode_response(response, self.api_key, context.api_version)
            return self.response(go_on(message))

        return follow_up(self.send_changed(request), answer)

    @may_pause
    def ask(
        self,
        api_key: ApiKey,
        api_version: int,
        request: "messages.Message",
        go_on: Callable[[Any], DispatchResult],
    ) -> DispatchResult:
        """Send another request in the name of the client, and go on with the decoded response."""
        context = self.context
        frame = codec.encode_request(
            context.correlation_id, context.client_id or "", api_key, api_version, request
        )

        def answer(response: CompletedResponse) -> DispatchResult:
            if not isinstance(response, bytes):
                return Close(f"no response to {api_key.name}") if response is None else response
            return go_on(codec.decode_response(response, api_key, api_version))

        return follow_up(self.probe(frame), answer)

    @may_pause
    def response(self, message: "messages.Message") -> bytes:
        """Return the frame of a response of the proxy."""
        context = self.context
        return codec.encode_response(
            context.correlation_id, self.api_key, context.api_version, message
        )
