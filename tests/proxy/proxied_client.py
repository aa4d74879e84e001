"""A client of the proxy without sockets: behind the proxy is a broker of ours."""

from typing import Any

from broker.config.broker_config import BrokerConfig
from protocol import codec
from protocol.api_keys import ApiKey
from proxy.authentication import Authentication
from proxy.exchange import Exchange
from proxy.forwarding import ForwardingDispatcher, Upstream
from proxy.mirror import BOOTSTRAP_ID, MirrorCluster
from tests.broker.cluster_builder import counting_uuids, make_cluster
from tests.broker.connection_driver import FRAME_BYTES_MAX, NOW_MS, Client, request_frame


class ProxiedClient:
    """One connection; `now_ms` is the time of the next request, for the proxy and the broker."""

    def __init__(self, **overrides: str) -> None:
        """`overrides` are keys of the proxy, such as `client.quotas`."""
        self.now_ms = NOW_MS
        self.cluster = make_cluster(1)
        self.broker = Client(self.cluster)
        self.mirror = MirrorCluster(
            BrokerConfig.from_overrides(overrides), cluster_id="", new_uuid=counting_uuids()
        )
        self.bugs: list[BaseException] = []
        self.dispatcher = ForwardingDispatcher(
            self.mirror, lambda error, _context: self.bugs.append(error)
        )
        self.client = Client(self.mirror, BOOTSTRAP_ID, self.dispatcher)
        exchange = Exchange(
            lambda _expected, frame: frame,
            Authentication(lambda _name: None),
            FRAME_BYTES_MAX,
            self.mirror.traffic.requests,
        )
        self._exchange = exchange
        self.dispatcher.upstreams[1] = Upstream(exchange, self._write)
        self.passed_on: list[ApiKey] = []
        """The APIs of the requests that have reached the broker."""

    def _write(self, data: bytes) -> None:
        self.passed_on.append(ApiKey(int.from_bytes(data[4:6])))
        self.broker.send(data, self.now_ms)
        written, self.broker.written = self.broker.written, b""
        self._exchange.take_responses(written)

    def send(self, request: Any, version: int) -> bytes:
        """Send a request; return what was written."""
        self.client.written = b""
        self.client.send(request_frame(request, version, 7), self.now_ms)
        assert not self.bugs
        return self.client.written

    def ask(self, request: Any, version: int) -> Any:
        """Send a request; return the decoded response, which the client has at once."""
        frame = self.send(request, version)
        assert frame, self.client.close_reason
        return codec.decode_response(frame, ApiKey(request.API_KEY), version)

    @property
    def muted_ms(self) -> int:
        """For how long the connection is muted from now on."""
        return max(0, self.client.connection.muted_until_ms - self.now_ms)
