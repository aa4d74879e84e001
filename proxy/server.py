"""The server of the proxy: a bootstrap port, and a port for each broker of the cluster."""

import asyncio
import ssl
from collections.abc import Sequence
from functools import partial

from broker.addresses import Address
from broker.clock import Clock
from broker.cluster.brokers import Broker
from broker.log import log
from broker.request.encoding import BugReporter
from broker.server.client_protocol import ClientProtocol
from broker.server.listener import ListenError
from broker.server.listener_security import ListenerSecurity
from broker.server.server import Server, log_bug
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_response
from proxy.api_versions import limited
from proxy.authentication import Authentication
from proxy.client_side import ClientSide
from proxy.exchange import Exchange, Expected
from proxy.forwarding import ForwardingDispatcher
from proxy.mirror import BOOTSTRAP_ID, MirrorCluster
from proxy.proxied_operations import refused_operation
from proxy.refusing_brokers import RefusingBrokers
from proxy.rewritten_response import rewritten
from proxy.upstream_side import UpstreamSide

CONNECT_TIMEOUT_S = 10.0
"""As Kafka's `socket.connection.setup.timeout.ms`."""

LEARNT_BYTES_MAX = 1 << 20
"""The longest Metadata response of which the names of topics are learnt."""


class ProxyServer(Server):
    """Listeners, connections in pairs, and what runs the timers of faults and throttles."""

    forwarding: ForwardingDispatcher
    """The dispatcher."""

    def __init__(
        self,
        cluster: MirrorCluster,
        clock: Clock,
        to: Sequence[Address],
        tls: ssl.SSLContext | None = None,
        report_bug: BugReporter = log_bug,
    ) -> None:
        """`to` has bootstrap addresses of the cluster; `tls` is that of connections to it."""
        super().__init__(cluster, clock, report_bug)
        self.mirror = cluster
        self._to = tuple(to)
        self._tls = tls
        self._indexes: dict[int, int] = {BOOTSTRAP_ID: 0}
        cluster.open_port = self._open_port
        self.refusing = RefusingBrokers(self.mirror.upstream.__getitem__, self._open_or_close)
        self.listeners.refusing = self.refusing
        self.refused_operation = refused_operation

    @property
    def bootstrap_ids(self) -> tuple[int, ...]:
        """The bootstrap port alone: clients learn the others from it."""
        return (BOOTSTRAP_ID,)

    def _new_dispatcher(self, report_bug: BugReporter) -> ForwardingDispatcher:
        self.forwarding = ForwardingDispatcher(self.cluster, report_bug)
        return self.forwarding

    def _new_protocol(self, broker_id: int, security: ListenerSecurity) -> ClientProtocol:
        return ClientSide(self, broker_id, security)

    def _port_index(self, broker_id: int) -> int:
        return self._indexes.setdefault(broker_id, len(self._indexes))

    def _open_port(self, broker: Broker) -> None:
        """Give a broker that is new a port; without one clients could not reach it."""
        while True:
            try:
                self.listeners.open_soon(broker)
            except ListenError as error:
                # Another program has the next port in turn.
                log.warning("a port of the proxy is taken", broker=broker.node_id, error=str(error))
                self._indexes[broker.node_id] = max(self._indexes.values()) + 1
            else:
                log.debug("broker found", broker=broker.node_id, address=str(broker.port))
                return

    def _open_or_close(self, node_id: int) -> None:
        """Have the port of a broker refuse connections while the broker does."""
        self.listeners.apply_availability(self.cluster.brokers[node_id])
        for note in self.forwarding.on_refusing if node_id in self.refusing else ():
            note(node_id)

    async def stop(self) -> None:
        """See `Server.stop`."""
        self.refusing.stop()
        await super().stop()

    def new_exchange(self, listener: str, authentication: Authentication) -> Exchange:
        """Return what a new connection to a listener sends and expects."""
        return Exchange(
            partial(self._changed, listener),
            authentication,
            self.cluster.config["socket.request.max.bytes"],
            self.mirror.traffic.requests,
        )

    def _changed(self, listener: str, expected: Expected, frame: bytes) -> bytes:
        key, version = ApiKey(expected.api_key), expected.api_version
        if key is ApiKey.API_VERSIONS:
            return limited(frame, expected.correlation_id or 0, version)
        changed = rewritten(frame, key, version, partial(self.mirror.advertised, listener))
        if key is ApiKey.METADATA and len(frame) <= LEARNT_BYTES_MAX:
            self.mirror.note_metadata(decode_response(frame, key, version))
        return changed

    def note_metadata(self, metadata: "messages.MetadataResponse") -> None:
        """Learn the brokers and topics of the cluster, and open the ports of the brokers."""
        self.cluster.cluster_id = metadata.cluster_id or ""
        listener = self.listeners.plans[0][0].name
        for found in sorted(metadata.brokers, key=lambda broker: broker.node_id):
            self.mirror.advertised(listener, found.node_id, Address(found.host, found.port))
        self.mirror.note_metadata(metadata)

    def connect(self, client: ClientSide) -> "asyncio.Task[None]":
        """Begin to connect to the broker of a client's port; report to the client."""
        return asyncio.get_running_loop().create_task(self._connect(client))

    async def _connect(self, client: ClientSide) -> None:
        known = self.mirror.upstream.get(client.broker_id)
        addresses = self._to if known is None else (known,)
        loop = asyncio.get_running_loop()
        problems = []
        for host, port in ((address.host, address.port) for address in addresses):
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    await loop.create_connection(
                        lambda: UpstreamSide(client),
                        host,
                        port,
                        ssl=self._tls,
                        server_hostname=host if self._tls is not None else None,
                    )
            except TimeoutError:
                problems.append(f"{host}:{port}: no connection in {CONNECT_TIMEOUT_S:g} s")
            except (OSError, ssl.SSLError) as error:
                problems.append(f"{host}:{port}: {error.strerror or error}")
                if known is not None and isinstance(error, ConnectionRefusedError):
                    self.refusing.add(client.broker_id)
            else:
                return
        client.upstream_failed(f"cannot connect to the broker behind the proxy: {problems}")
