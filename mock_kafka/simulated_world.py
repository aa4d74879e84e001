"""Run a coroutine and its asyncio clients against a cluster in virtual time, determined by a seed.

    async def main(world):
        producer = AIOKafkaProducer(bootstrap_servers=world.bootstrap_servers)
        ...

    result = mock_kafka.simulate(main, seed=7, network=NetworkConditions(cut_chance=0.01))

docs/simulator.md says what is simulated, and what a seed does not determine.
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from random import Random
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from greenlet import getcurrent, greenlet

from mock_kafka.async_methods import AsyncMethods
from mock_kafka.audit import ON_PURPOSE, AuditReport
from mock_kafka.config_value import ConfigValue, config_text
from mock_kafka.control import Control
from mock_kafka.fault import Rules, document_of
from mock_kafka.methods import ClusterMethods
from mock_kafka.quiet_imports import quiet_imports
from mock_kafka.views import Request

with quiet_imports():
    from simulation.determinism import collected
    from simulation.network_conditions import NetworkConditions
    from simulation.process import Process
    from simulation.world import World

__tracebackhide__ = True  # pytest shows the line of the caller

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")

LIMIT_S = 86_400.0
"""The default limit of virtual time: a day."""
SEED_ARGUMENT = "simulation_seed"
"""The argument by which pytest gives each run of a test its seed."""


class SimulatedControl(Control):
    """The operations of the admin port, carried out on the event loop of the simulation."""

    def __init__(self, world: World) -> None:
        super().__init__("simulated")
        self._port = world.port

    def _exchange(
        self, method: str, target: str, data: bytes | None, _timeout_s: float
    ) -> tuple[int, str, bytes]:
        worker = getcurrent()
        if not isinstance(worker, _Worker) or worker.parent is None:
            # A plain call, such as `fault.remove()`.
            return self._port.respond_at_once(method, target, data)
        response: tuple[int, str, bytes] = worker.parent.switch(
            self._port.respond(method, target, data)
        )
        return response


class _Worker(greenlet):  # type: ignore[misc]  # greenlet has no types
    """Runs a method that is no coroutine; what it awaits is awaited by its parent."""


class SimulatedCluster(ClusterMethods):
    """The methods of a simulated cluster."""

    def __init__(self, world: World) -> None:
        self._control = SimulatedControl(world)

    @property
    def control(self) -> Control:
        """The admin port of the cluster."""
        return self._control

    def _note_addresses(self, addresses: Mapping[str, str]) -> None:
        """Do nothing: the addresses of simulated brokers do not change."""


class SimulatedMethods(AsyncMethods):
    """The methods of `MockKafka.aio` for a simulated cluster: no thread runs them."""

    async def _run(
        self,
        method: Callable[Concatenate[ClusterMethods, _P], _R],
        /,
        *arguments: _P.args,
        **named: _P.kwargs,
    ) -> _R:
        worker = _Worker(method)
        step: Any = worker.switch(self.cluster, *arguments, **named)
        while not worker.dead:
            try:
                response = await step
            except BaseException as error:  # noqa: BLE001 - also the cancellation of its caller
                step = worker.throw(error)
            else:
                step = worker.switch(response)
        result: _R = step
        return result


class SimulatedWorld:
    """What the coroutine of `simulate` gets."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.seed = world.seed
        """The seed that determines everything."""
        self.random: Random = world.random_of("user")
        """Random numbers that depend on the seed alone."""
        self.kafka = SimulatedMethods(SimulatedCluster(world))
        """The methods of `MockKafka.aio`: faults, brokers, records, requests and so on."""

    def __repr__(self) -> str:
        return f"<SimulatedWorld seed={self.seed} at {self.virtual_s} s>"

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of every broker, comma-separated. Only this world knows the hosts."""
        return self._world.bootstrap_servers

    def process(self, coroutine: Coroutine[Any, Any, _T]) -> Process[_T]:
        """Start a coroutine as a process, which `kill()` ends with its tasks and connections."""
        return Process(coroutine)

    @property
    def network(self) -> NetworkConditions:
        """How the network behaves from now on; `network.clear()` ends its faults."""
        return self._world.network.conditions

    @property
    def virtual_s(self) -> float:
        """The virtual seconds since the start."""
        return self._world.virtual_s


@dataclass(frozen=True)
class SimulationResult(Generic[_T]):
    """What a run returns. Two runs of one seed have equal digests.

    `value` is what the coroutine returned, `virtual_s` the virtual seconds that it took. `digest`
    is a hash in hex of all bytes that arrived at brokers and clients, with their times and
    connections, and `byte_count` their number. `audit` compares acknowledgements with the logs.
    `journal` has the last requests, at most 10,000, without their messages.
    """

    value: _T
    seed: int
    virtual_s: float
    digest: str
    byte_count: int
    audit: AuditReport
    journal: tuple[Request, ...]


Main = Callable[[SimulatedWorld], Coroutine[Any, Any, _T]]


def simulate(
    main: Main[_T],
    *,
    seed: int = 0,
    brokers: int = 1,
    config: Mapping[str, ConfigValue] | None = None,
    faults: Rules | None = None,
    network: NetworkConditions | None = None,
    limit_s: float = LIMIT_S,
) -> SimulationResult[_T]:
    """Run `main(world)` in virtual time, with a cluster that it reaches over a simulated network.

    Clients of asyncio, such as aiokafka, run unchanged. Time jumps to the next timer when nothing
    else is left to do, and nothing but the seed determines what happens.

    Args:
        main: the coroutine function.
        seed: determines delays, the order of what happens, random numbers and ids.
        brokers: the number of brokers.
        config: Kafka's broker configuration, as in `MockKafka`. The audit is on.
        faults: fault rules of the start, as in `MockKafka`.
        network: how the network behaves; by default it delays by 0 to 5 ms, and splits one send in
            ten. Nothing breaks unless it says so.
        limit_s: the virtual seconds after which the run ends with a TimeLimitError.

    Raises:
        DeadlockError: nothing can ever happen again; the message has the tasks that wait.
        TimeLimitError: the limit was reached; the message has the tasks that wait.
        BrokerError: the broker raised an exception.
        RuntimeError: an event loop runs in this thread already.

    What the coroutine raises is raised, with a note of the seed.
    """
    conditions = NetworkConditions(split_chance=0.1) if network is None else network
    texts = {"audit.enable": "true"}
    texts |= {key: config_text(value) for key, value in (config or {}).items()}
    rules = [] if faults is None else document_of(faults)
    with collected():
        return _run(main, World(seed, brokers, texts, rules, conditions, limit_s))


def _run(main: Main[_T], inner: World) -> SimulationResult[_T]:
    world = SimulatedWorld(inner)

    async def main_and_report() -> SimulationResult[_T]:
        value = await main(world)
        virtual_s, digest = world.virtual_s, inner.network.digest
        return SimulationResult(
            value=value,
            seed=inner.seed,
            virtual_s=virtual_s,
            digest=digest,
            byte_count=inner.network.byte_count,
            audit=await world.kafka.audit(),
            journal=tuple(await world.kafka.requests(has_messages=False)),
        )

    try:
        return inner.run(main_and_report)
    except Exception as error:
        error.add_note(
            f"seed {inner.seed}, {world.virtual_s:g} virtual seconds after the start; repeat it"
            f" with simulate(..., seed={inner.seed}), or pytest --mock-kafka-seed {inner.seed}"
        )
        raise


def simulated(
    seeds: int = 20,
    *,
    brokers: int = 1,
    config: Mapping[str, ConfigValue] | None = None,
    faults: Rules | None = None,
    network: Callable[[Random], NetworkConditions] | None = None,
    limit_s: float = LIMIT_S,
) -> Callable[[Callable[..., Coroutine[Any, Any, Any]]], Callable[..., None]]:
    """Make a test of a coroutine function `test(world, ...)`; pytest runs it with each seed.

    The other arguments of the test are fixtures. `network` makes the conditions from random numbers
    of the seed. `pytest --mock-kafka-seed N` runs such tests with one seed only, also another. The
    audit must have no findings but losses that the test has set up. See `simulate` for the rest.
    """

    def decorate(test: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., None]:
        _world, *others = signature(test).parameters.values()

        @wraps(test)
        def run(**fixtures: Any) -> None:
            seed = fixtures.pop(SEED_ARGUMENT)
            conditions = None if network is None else network(Random(f"{seed}/conditions"))  # noqa: S311 - no secret
            result = simulate(
                lambda world: test(world, **fixtures),
                seed=seed,
                brokers=brokers,
                config=config,
                faults=faults,
                network=conditions,
                limit_s=limit_s,
            )
            result.audit.raise_on_findings(except_kinds=ON_PURPOSE)

        seed_parameter = Parameter(SEED_ARGUMENT, Parameter.KEYWORD_ONLY)
        keywords = [other.replace(kind=Parameter.KEYWORD_ONLY) for other in others]
        run.__signature__ = signature(test).replace(  # type: ignore[attr-defined]
            parameters=[*keywords, seed_parameter], return_annotation=None
        )
        del run.__wrapped__  # pytest-asyncio would look at it
        run.simulated_seeds = seeds  # type: ignore[attr-defined]
        return run

    return decorate
