"""One simulated world: a cluster, a network and an event loop, all determined by a seed."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from math import inf
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from broker.clock import BrokerClock
from broker.cluster.cluster import Cluster
from broker.config.broker_config import BrokerConfig
from broker.faults import rules_from_json
from broker.http_admin import web  # noqa: F401 - declares all operations
from broker.http_admin.direct_port import DirectPort
from broker.http_admin.state import Admin
from broker.log import log
from simulation.determinism import deterministic
from simulation.event_loop import START_MS, DeadlockError, SimulatedLoop, TimeLimitError
from simulation.network import Link, Network, ServerTransport
from simulation.network_conditions import NetworkConditions
from simulation.socketless_server import SocketlessServer
from simulation.timeline import SocketAddress

_T = TypeVar("_T")

_END_S = 60.0
"""Virtual time that tasks have for their end after they were cancelled."""


class BrokerError(AssertionError):
    """The broker raised an exception; the message is its traceback."""


class World:
    """A cluster that coroutines of `run` reach over a simulated network."""

    def __init__(
        self,
        seed: int,
        brokers: int,
        config: Mapping[str, str],
        rules: Sequence[Any],
        conditions: NetworkConditions,
        limit_s: float,
    ) -> None:
        """Start a cluster; `rules` are fault rules of the start, as JSON.

        Raises:
            ConfigError: a key is unknown, or a value is invalid.
            ValueError: a fault rule is invalid.
        """
        self.seed = seed
        self.loop = loop = SimulatedLoop(limit_s)
        self._bugs: list[str] = []
        cluster_random = self.random_of("cluster")
        self.network = loop.network = Network(
            loop, self.random_of("network"), conditions, _ignore, is_traced=False
        )
        self.network.accept = self._accept
        self._clock = BrokerClock(read_ms=loop.now_ms)
        cluster = Cluster(
            BrokerConfig.from_overrides(config),
            brokers,
            cluster_id="simulated",
            new_uuid=lambda: UUID(int=cluster_random.getrandbits(128), version=4),
        )
        self.server = server = SocketlessServer(
            cluster, self._clock, loop, self._bugs.append, loop.now_ns
        )
        server.timer_driver.alarm_s_max = inf
        server.dispatcher.journal.is_enabled = True
        loop.is_dead = server.reporting_driver.is_dead_after
        server.start()
        server.first_faults = tuple(rules_from_json(list(rules)))
        server.dispatcher.faults.add_all(server.first_faults, self._clock.now_ms())
        self.port = DirectPort(Admin(server, self._clock))

    def random_of(self, name: str) -> Random:
        """Return random numbers that only the seed and this name determine."""
        return Random(f"{self.seed}/{name}")  # noqa: S311 - no secret

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers, comma-separated."""
        brokers = self.server.cluster.brokers.values()
        return ",".join(f"{broker.host}:{broker.port}" for broker in brokers)

    @property
    def virtual_s(self) -> float:
        """The virtual seconds since the start."""
        return (self.loop.now_ms() - START_MS) / 1000

    def run(self, main: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Run a coroutine in this world to its end, and return its result.

        Raises:
            DeadlockError: it waits for what can never happen.
            TimeLimitError: the limit of virtual time was reached.
            BrokerError: the broker raised an exception.
        """
        level = log.level
        log.level = "critical"
        with deterministic(self.loop, self.random_of("bytes"), self.seed):
            try:
                result = self.loop.run_until_complete(main())
                if self._bugs:
                    raise BrokerError("\n".join(self._bugs))
                return result
            finally:
                _end_tasks(self.loop)
                self.server.dispatcher.turns.close()
                log.level = level

    def _accept(self, link: Link, address: SocketAddress) -> ServerTransport | None:
        return self.server.accept(link, address) or self.loop.accept(link, address)


def _ignore(_line: str) -> None:
    """Write no trace."""


def _end_tasks(loop: SimulatedLoop) -> None:
    """Cancel what still runs, and wait for its end, as `asyncio.run` does, but not for ever."""
    tasks = sorted(asyncio.all_tasks(loop), key=hash)
    loop.allow(_END_S)
    for task in tasks:
        task.cancel()
    with suppress(DeadlockError, TimeLimitError):
        if tasks:
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001
    loop.close()
