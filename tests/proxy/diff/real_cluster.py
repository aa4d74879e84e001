"""A cluster of ours in the place of the real one, and a shadow beside it, without sockets."""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.config.broker_config import BrokerConfig
from broker.dispatch.dispatcher import Dispatcher
from broker.faults.rule import FaultRule
from broker.faults.table import FaultTable
from broker.request.context import RequestContext
from broker.request.session import Session
from protocol import messages
from protocol.codec import encode_request
from protocol.messages import api_key_of
from proxy.diff.played_request import PlayedRequest
from proxy.diff.report import Report
from proxy.diff.shadow import Shadow
from proxy.diff.shadow_broker import Answer, ShadowBroker
from proxy.diff.shadow_connection import ShadowConnection
from tests.differential.arguments import build

START_MS = 1_700_000_000_000
_CONFIG = {"group.initial.rebalance.delay.ms": "0", "producer.state.batches": "5"}


def _raise(error: BaseException, _context: RequestContext) -> None:
    raise AssertionError("a handler failed") from error


class FaultyBroker(ShadowBroker):
    """A broker with fault rules."""

    faults: FaultTable


def broker_of(
    first_id: int, config: dict[str, str] | None = None, broker_count: int = 1
) -> FaultyBroker:
    """Return a cluster, by default of one broker, whose random ids count from a number."""
    ids = count(first_id)
    cluster = Cluster(
        BrokerConfig.from_overrides({**_CONFIG, **(config or {})}),
        broker_count,
        cluster_id="cluster",
        new_uuid=lambda: UUID(int=next(ids)),
    )
    for broker in cluster.brokers.values():
        broker.host, broker.port = "kafka", 9092
    dispatcher = Dispatcher(cluster, _raise)
    faulty = FaultyBroker(cluster, dispatcher)
    faulty.faults = dispatcher.faults
    return faulty


class Connection:
    """A connection to one of our brokers, without a socket."""

    def __init__(self, broker: ShadowBroker) -> None:
        self.broker = broker
        self.broker_id, self.client_host, self.connection_id = 1, "127.0.0.1", 1
        self.session = Session()

    def ask(self, api: str, version: int, **arguments: Any) -> Any:
        """Send a request; return the fields of the response."""
        frame = frame_of(1, api, version, arguments)
        answers: list[Answer] = []
        self.broker.play(frame, self, START_MS, answers.append)
        return PlayedRequest(frame, START_MS).values_of(answers[0])


def frame_of(
    correlation_id: int,
    api: str,
    version: int,
    arguments: Mapping[str, Any],
    resolve: Callable[[Any], Any] = lambda value: value,
) -> bytes:
    """Return the frame of a request, without its size."""
    api_key = api_key_of(api)
    request = build(messages.request_class(api_key), version, arguments, resolve)
    return encode_request(correlation_id, "client", api_key, version, request)


class Client:
    """A connection to the real cluster through a proxy that compares."""

    def __init__(self, both: "BothClusters", connection_id: int, node_id: int) -> None:
        self._both = both
        self._correlation_ids = count(1)
        self.broker_id, self.client_host = node_id, "127.0.0.1"
        self.connection_id = connection_id
        self.session = Session()
        self.holds_responses = False
        """Whether the proxy gets the responses late."""
        self._held: list[bytes] = []
        self.shadow = ShadowConnection(both.shadow, node_id, "127.0.0.1")

    def release(self) -> None:
        """Have the proxy get the responses that were held."""
        held, self._held = self._held, []
        for answer in held:
            self.shadow.see_response(answer, self._both.now_ms)

    def close(self) -> None:
        """End the connection."""
        self.shadow.close(self._both.now_ms)

    def ask_with(
        self, resolve: Callable[[Any], Any], api: str, version: int, arguments: Mapping[str, Any]
    ) -> Any:
        """Send a request whose arguments have names, as those of kept conversations."""
        return self.send(api, version, resolve, **arguments)()

    def ask(self, api: str, version: int, **arguments: Any) -> Any:
        """Send a request; return the fields of the real response, or None if it comes later."""
        return self.send(api, version, **arguments)()

    def send(
        self,
        api: str,
        version: int,
        resolve: Callable[[Any], Any] = lambda value: value,
        /,
        **arguments: Any,
    ) -> Callable[[], Any]:
        """Send a request; the result returns the fields of the real response, if it has come."""
        frame = frame_of(next(self._correlation_ids), api, version, arguments, resolve)
        compared, found = PlayedRequest(frame, self._both.now_ms), []
        self.shadow.see_request(frame, self._both.now_ms)

        def deliver(answer: Answer) -> None:
            found.append(compared.values_of(answer))
            if isinstance(answer, bytes):
                self._held.append(answer)
            if not self.holds_responses:
                self.release()

        self._both.real.play(frame, self, self._both.now_ms, deliver)
        self._both.run()
        return lambda: found[0] if found else None


class BothClusters:
    """The real cluster, and the shadow."""

    def __init__(self, config: dict[str, str] | None = None, broker_count: int = 1) -> None:
        self.real = broker_of(1000, config, broker_count)
        ours = broker_of(2000, broker_count=broker_count)
        self.shadow = Shadow(ours)
        self.now_ms = START_MS
        self._connection_ids = count(1)

    def fail(self, **fields: Any) -> None:
        """Have the real cluster follow a fault rule."""
        self.real.faults.add(FaultRule.from_json(fields), self.now_ms)

    def client(self, node_id: int = 1) -> Client:
        """Return a new connection to a broker."""
        return Client(self, next(self._connection_ids), node_id)

    def run(self, duration_ms: int = 0) -> None:
        """Run the timers of both clusters."""
        self.now_ms += duration_ms
        for broker in (self.real, self.shadow.broker):
            broker.cluster.timers.run_due(self.now_ms)

    def end(self) -> Report:
        """Let the last second pass, and return the report."""
        self.run(2000)
        return self.shadow.end()
