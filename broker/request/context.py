"""The context of a request: its header fields, client, broker and time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from broker.authorization.checks import Denial
from broker.request.acknowledgement import Acknowledgement
from broker.request.charged_run import ChargedRun
from broker.request.session import Session
from broker.responses import ThrottlingQuota
from protocol.api_keys import ApiKey
from protocol.messages import API_NAMES


class ShadowThrottles:
    """How shadow quotas would have throttled one request.

    `is_held`: it arrived while its connection would have been muted. `throttle_times_ms` has, by
    quota key, the `throttle_time_ms` that its response would have had. For a held request it is the
    remaining time of the mute.
    """

    __slots__ = ("is_held", "throttle_times_ms")

    def __init__(self, *, is_held: bool) -> None:
        self.is_held = is_held
        self.throttle_times_ms: dict[str, int] = {}


@dataclass
class RequestContext:
    """Who sent a request, to which broker, when, and in which version.

    It has no slots: what most requests do not need is then an attribute of the class.

    `now_ms` is the time of this request, for handlers and everything that they call.
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
    session: Session = field(default_factory=Session)
    is_shared: bool = field(default=False, init=False)
    """Whether it is that of many requests, one after the other, none of which may keep it."""
    stopwatch: Callable[[], int] | None = field(default=None, init=False)
    """Nanoseconds since the handler began; None if no quota needs them, or after the charge."""
    run: ChargedRun | None = field(default=None, init=False)
    """The requests with which it may be charged together; None if it is charged by itself."""
    throttle_time_ms: int = field(default=0, init=False)
    """The longest throttle time of all quotas, for the response."""
    muted_until_ms: int = field(default=0, init=False)
    """The connection stays muted until then, whether or not the client obeys the throttle time."""

    throttled_by: ThrottlingQuota | None = field(default=None, init=False)
    shadow: ShadowThrottles | None = field(default=None, init=False)
    """How quotas in shadow mode would have throttled it; None if none would have."""
    acknowledgements: list[Acknowledgement] | None = field(default=None, init=False)
    """The batches that its response acknowledges, for the audit; None for none."""
    falsified_by: tuple[int, ...] = field(default=(), init=False)
    """The ids of the fault rules that change what its response says."""
    denials: tuple[Denial, ...] = field(default=(), init=False)
    """The operations that it was not allowed to do, for the journal."""
    is_held: bool = field(default=False, init=False)
    """Whether a fault rule holds it now."""
    fault: str | None = field(default=None, init=False)
    """The fault rules that fired on it and what they do, such as `#1 drop before_response`."""

    def throttle(self, throttle_time_ms: int, quota: ThrottlingQuota, now_ms: int) -> None:
        """Throttle the client from `now_ms` on; with several quotas the longest time applies."""
        if throttle_time_ms > self.throttle_time_ms:
            self.throttle_time_ms = throttle_time_ms
            self.muted_until_ms = now_ms + throttle_time_ms
            self.throttled_by = quota

    def describe(self) -> dict[str, Any]:
        """Return when and by whom the request was sent, where it arrived, and its API."""
        return {
            "received_ms": self.now_ms,
            "broker": self.broker_id,
            "connection": self.connection_id,
            "client_host": self.client_host,
            "client_id": self.client_id,
            "user": self.principal,
            "listener": self.session.listener,
            "api": API_NAMES[ApiKey(self.api_key)],
            "version": self.api_version,
            "correlation_id": self.correlation_id,
        }
