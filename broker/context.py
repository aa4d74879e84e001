"""What a handler knows about the request besides its body."""

from dataclasses import dataclass


@dataclass(slots=True)
class RequestContext:
    """Who asked, of which broker, when, and in which version. Made once per request.

    `now_ms` is the one time of this request: handlers and everything below them take it from here.
    `broker_id` is the broker of the cluster whose listener the client connected to.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    now_ms: int
    size_bytes: int
    broker_id: int
    connection_id: int
    client_host: str
    principal: str = "ANONYMOUS"
    throttle_time_ms: int = 0
    """The longest wait that any quota asks of this client; the answer tells it."""
    muted_until_ms: int = 0
    """The connection stays mute until then, whether the client keeps to what it is told or not."""

    def throttle(self, throttle_time_ms: int, now_ms: int | None = None) -> None:
        """Have the client wait, counted from `now_ms` (the time of the request, unless given).

        Of several quotas the one that asks for most wins.
        """
        if throttle_time_ms > self.throttle_time_ms:
            self.throttle_time_ms = throttle_time_ms
            since_ms = self.now_ms if now_ms is None else now_ms
            self.muted_until_ms = since_ms + throttle_time_ms
