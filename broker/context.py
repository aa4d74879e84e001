"""What a handler knows about the request besides its body."""

from dataclasses import dataclass, field

from broker.security.session import Session


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
    session: Session = field(default_factory=Session)
