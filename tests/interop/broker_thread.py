"""A served cluster in a thread of the test, whose faults and clock the test has in its hands."""

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from broker.audit.comparison import FindingKind, audit_cluster
from broker.clock import ClockMode
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition
from broker.config.broker_config import BrokerConfig
from broker.faults import RuleState, fault_rule
from broker.request.context import RequestContext
from broker.serve import ServeOptions, bootstrap_lines, start_server
from broker.server.server import Server, log_bug

_Result = TypeVar("_Result")
TIMEOUT_S = 20


class BrokerThread:
    """`with BrokerThread(brokers=3) as kafka:`; every verb runs on the broker's own thread."""

    def __init__(self, brokers: int = 1, **config: str) -> None:
        overrides = {
            "log.retention.ms": "-1",
            "group.min.session.timeout.ms": "200",
            "audit.enable": "true",
        } | config
        self._options = ServeOptions(
            "127.0.0.1", 0, brokers, BrokerConfig.from_overrides(overrides), log_level="warning"
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.bugs: list[BaseException] = []
        self._server: Server | None = None
        self.servers = ""

    def __enter__(self) -> "BrokerThread":
        self._thread.start()
        started = start_server(self._options, self._report_bug)
        server = asyncio.run_coroutine_threadsafe(started, self._loop).result(TIMEOUT_S)
        self._server = server
        self.servers = bootstrap_lines(server)[0].partition("=")[2]
        return self

    def _report_bug(self, error: BaseException, context: RequestContext) -> None:
        self.bugs.append(error)
        log_bug(error, context)

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        findings = self.call(
            lambda server: (
                audit_cluster(
                    server.cluster, server.dispatcher.acknowledgements
                ).comparison.findings
            )
        )
        asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop).result(TIMEOUT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        assert self.bugs == []
        assert [found for found in findings if found.kind != FindingKind.CHANGED_BY_RULE] == []

    def call(self, verb: Callable[[Server], _Result]) -> _Result:
        """Run something on the broker's thread."""
        server = self._server
        assert server is not None

        async def run() -> _Result:
            return verb(server)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(TIMEOUT_S)

    def on(self, verb: Callable[[Cluster, int], Any]) -> Any:
        """Run something on the cluster, at the time it is there."""
        return self.call(lambda server: verb(server.cluster, server.clock.now_ms()))

    def fault(self, **rule: Any) -> int:
        """Add a rule."""
        return self.call(
            lambda server: server.dispatcher.faults.add(fault_rule(**rule), server.clock.now_ms())
        )

    def rule(self, rule_id: int) -> RuleState:
        """A rule with its counts."""
        listed = self.call(lambda server: server.dispatcher.faults.rules())
        return next(state for state in listed if state.rule_id == rule_id)

    def clear_faults(self) -> None:
        """Forget all rules."""
        self.call(lambda server: server.dispatcher.faults.clear())

    def let_time_stand(self) -> None:
        """From now on time goes by only when it is moved."""
        self.call(lambda server: server.clock.set_mode(ClockMode.STANDING))  # type: ignore[attr-defined]

    def advance(self, duration_ms: int) -> None:
        """Move the clock."""
        self.call(lambda server: server.timer_driver.advance(duration_ms))

    def stored(self, topic: str, partition: int = 0) -> int:
        """How many records are in the log."""
        return self.partition(topic, partition).log.log_end_offset

    def partition(self, topic: str, partition: int = 0) -> Partition:
        """A partition as it is now; to be read only."""
        found = self.call(lambda server: server.cluster.topics.get(topic))
        assert found is not None
        return found.partitions[partition]

    def move_leader(self, topic: str, node_id: int) -> None:
        """Have a broker lead partition 0."""
        partition = self.partition(topic)
        self.on(lambda cluster, now_ms: cluster.move_leader(partition, node_id, now_ms))
