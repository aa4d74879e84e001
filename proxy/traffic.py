"""What passes through the proxy, as measurements for `/metrics`."""

from collections import defaultdict
from collections.abc import Iterator

from protocol.json_view import api_name
from quotas.metrics import Measurement

GROUP = "Proxy"


class Traffic:
    """Counts since the start; bytes are those of frames on both sides, without TLS."""

    __slots__ = (
        "connection_count",
        "connections_total",
        "request_bytes",
        "requests",
        "response_bytes",
    )

    def __init__(self) -> None:
        self.connection_count = 0
        """Connections to brokers that are open now, each for one client's."""
        self.connections_total = 0
        self.request_bytes = 0
        self.response_bytes = 0
        self.requests: defaultdict[int, int] = defaultdict(int)
        """Requests that were sent to the cluster, by API key."""

    def measure(self, _now_ms: int) -> Iterator[Measurement]:
        """Yield the counts; see `quotas.metrics.MetricsRegistry`."""
        for name in ("connection_count", "connections_total", "request_bytes", "response_bytes"):
            yield Measurement(GROUP, name.replace("_", "-"), {}, getattr(self, name))
        for api_key, count in self.requests.items():
            yield Measurement(GROUP, "requests-total", {"api": api_name(api_key)}, count)
