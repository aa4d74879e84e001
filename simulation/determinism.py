"""What a run replaces in its process, so that nothing but the seed determines it.

`deterministic` replaces all of it for the thread of the run, and restores it afterwards:

- the functions of `time` (`time`, `monotonic`, `perf_counter`, their `_ns` variants, and `sleep`)
  return virtual time; other threads still get the real one;
- the module `random` is seeded, and `os.urandom`, with what is built on it (`uuid.uuid4`,
  `secrets`, `random.SystemRandom`), returns bytes of the seed;
- the garbage collector runs only when the loop says so: aiokafka closes connections in `__del__`;
- in the modules of aiokafka, `set` and `frozenset` are ordered (`ordered_set.py`), and the builder
  of its batches, which is compiled and reads the machine's clock, gets its timestamps from here.
  The number in the client id of the next producer is 1.

What it cannot replace: `datetime.now()`, which is compiled, functions that a module has imported
from `time` by name, `uuid.uuid1`, the sets of strings of other code, and threads.
"""

import gc
import importlib.util
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any
from unittest.mock import patch

from simulation.event_loop import START_MS, START_S, SimulatedLoop
from simulation.ordered_set import OrderedFrozenSet, OrderedSet

ORDERED = "aiokafka"
"""The package whose sets are ordered."""
_MODULES = (
    ORDERED,
    "aiokafka.admin",
    "aiokafka.coordinator.assignors.sticky.sticky_assignor",
)
"""They are imported before the run if they are installed; what is imported later is unchanged."""
_BATCHES = "aiokafka.producer.message_accumulator"
_PRODUCERS = "aiokafka.producer.producer"
_PRODUCER_COUNT = "_PRODUCER_CLIENT_ID_SEQUENCE"
_BUILDER = "DefaultRecordBatchBuilder"
_NS = 1_000_000_000


@contextmanager
def deterministic(loop: SimulatedLoop, random_of_bytes: Random, seed: int) -> Iterator[None]:
    """Replace what is not determined by the seed, during the block."""
    state = random.getstate()
    with ExitStack() as replaced:
        for module in _modules():
            replaced.enter_context(_replaced_names(module))
        replaced.enter_context(_virtual_time(loop))
        replaced.enter_context(_own_bytes(random_of_bytes))
        replaced.enter_context(_no_collector())
        random.seed(seed)
        try:
            yield
        finally:
            random.setstate(state)


def _modules() -> list[Any]:
    """Return the modules of aiokafka, if it is installed."""
    if importlib.util.find_spec(ORDERED) is None:
        return []
    for name in _MODULES:
        importlib.import_module(name)
    return [
        module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == ORDERED and module is not None
    ]


@contextmanager
def _replaced_names(module: Any) -> Iterator[None]:
    changes: dict[str, Any] = {"set": OrderedSet, "frozenset": OrderedFrozenSet}
    if module.__name__ == _BATCHES:
        changes[_BUILDER] = _with_timestamps(getattr(module, _BUILDER))
    with ExitStack() as replaced:
        replaced.enter_context(patch.multiple(module, create=True, **changes))
        if module.__name__ == _PRODUCERS:
            replaced.enter_context(patch.object(module.AIOKafkaProducer, _PRODUCER_COUNT, 0))
        yield


def _with_timestamps(builder: Any) -> Any:
    """Return a builder of batches that takes the time of a record without one from `time`."""

    class Builder(builder):  # type: ignore[misc]
        def append(
            self, offset: int, timestamp: int | None, key: Any, value: Any, headers: Any
        ) -> Any:
            if timestamp is None:
                timestamp = int(time.time() * 1000)
            return super().append(offset, timestamp, key, value, headers)

    return Builder


@contextmanager
def _virtual_time(loop: SimulatedLoop) -> Iterator[None]:
    """Have `time` return virtual time in this thread, until the end of the block.

    A module that is imported within the block may keep these functions, for example as the default
    of an argument. They return the real time afterwards, and keep nothing of the run alive.
    """
    thread_id = threading.get_ident()
    running = [loop]

    def since_epoch_s(loop: SimulatedLoop) -> float:
        return START_MS / 1000 + loop.time() - START_S

    functions: dict[str, Callable[..., Any]] = {
        "time": since_epoch_s,
        "time_ns": lambda loop: int(since_epoch_s(loop) * _NS),
        "sleep": SimulatedLoop.sleep,
    }
    for name in ("monotonic", "perf_counter"):
        functions[name] = SimulatedLoop.time
        functions[f"{name}_ns"] = lambda loop: int(loop.time() * _NS)

    def here(virtual: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if running and threading.get_ident() == thread_id:
                return virtual(running[0], *arguments)
            return real(*arguments)

        return call

    changes: dict[str, Any] = {
        name: here(virtual, getattr(time, name)) for name, virtual in functions.items()
    }
    try:
        with patch.multiple(time, **changes):
            yield
    finally:
        running.clear()


@contextmanager
def _own_bytes(random_of_bytes: Random) -> Iterator[None]:
    with (
        patch.object(os, "urandom", random_of_bytes.randbytes),
        patch.object(random, "_urandom", random_of_bytes.randbytes),
    ):
        yield


@contextmanager
def _no_collector() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def collected() -> Iterator[None]:
    """Collect the garbage of a run, which begins and ends within the block.

    The collector looks at new objects only, so that it is fast.
    """
    had_frozen = gc.get_freeze_count() > 0
    gc.freeze()
    try:
        yield
    finally:
        gc.collect()
        if not had_frozen:
            gc.unfreeze()
