"""What a run replaces in its process, and restores."""

import gc
import os
import random
import secrets
import threading
import time
import uuid
import weakref

import aiokafka.cluster
import aiokafka.producer.message_accumulator as batches
import pytest

from simulation.determinism import collected, deterministic
from simulation.event_loop import START_MS, SimulatedLoop
from simulation.ordered_set import OrderedSet


def drawn(seed: int) -> list[object]:
    with deterministic(SimulatedLoop(1), random.Random(seed), seed):
        return [random.random(), os.urandom(8), uuid.uuid4(), secrets.token_hex(4), time.time()]


def test_random_numbers_bytes_ids_and_time_depend_on_the_seed_alone() -> None:
    first = drawn(1)
    random.random()
    assert first == drawn(1)
    assert first[:4] != drawn(2)[:4]


def test_everything_is_restored_even_after_an_error() -> None:
    def looked_at() -> list[object]:
        names = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep")
        return [
            *(getattr(time, name) for name in names),
            os.urandom,
            random.getstate(),
            gc.isenabled(),
            batches.DefaultRecordBatchBuilder,
            vars(aiokafka.cluster).get("set"),
            aiokafka.AIOKafkaProducer._PRODUCER_CLIENT_ID_SEQUENCE,
        ]

    before = looked_at()
    with (  # noqa: PT012 - the block is what raises
        pytest.raises(KeyError),
        deterministic(SimulatedLoop(1), random.Random(1), 1),
    ):
        assert vars(aiokafka.cluster)["set"] is OrderedSet
        assert not gc.isenabled()
        raise KeyError
    assert looked_at() == before


def test_another_thread_has_the_time_of_the_machine() -> None:
    seen: list[float] = []
    with deterministic(SimulatedLoop(1), random.Random(1), 1):
        thread = threading.Thread(target=lambda: seen.append(time.time()))
        thread.start()
        thread.join()
        assert time.time() == START_MS / 1000
    assert seen[0] > START_MS / 1000 + 1_000_000


def test_a_blocking_sleep_moves_the_time() -> None:
    with deterministic(SimulatedLoop(1), random.Random(1), 1):
        before_s = time.monotonic()
        time.sleep(3_600)
        assert time.monotonic() - before_s == 3_600


def test_a_function_that_a_module_keeps_has_the_real_time_after_the_run() -> None:
    with deterministic(SimulatedLoop(1), random.Random(1), 1):
        kept = time.time  # as the default of an argument
        assert kept() == START_MS / 1000
    assert kept() > START_MS / 1000 + 1_000_000


def test_what_a_run_leaves_is_collected() -> None:
    def run() -> "weakref.ref[SimulatedLoop]":
        loop = SimulatedLoop(1)
        loop.is_dead = lambda _timer: loop.is_closed()  # the two refer to each other
        return weakref.ref(loop)

    gc.freeze()  # as programs do that run many worlds
    try:
        with collected():
            left = run()
            assert left() is not None
        assert left() is None
    finally:
        gc.unfreeze()
