"""`simulate` and `simulated`: what users get, and what they see when a run fails."""

import asyncio
import gc
import weakref

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

import mock_kafka
from mock_kafka.simulated_world import SimulatedWorld, simulate, simulated
from simulation.network_conditions import NetworkConditions

pytest_plugins = ["pytester"]


async def send_and_read(world: SimulatedWorld) -> list[bytes]:
    fault = await world.kafka.drop_response(api="Produce", times=1)
    async with AIOKafkaProducer(
        bootstrap_servers=world.bootstrap_servers, enable_idempotence=True
    ) as producer:
        for number in range(10):
            await producer.send_and_wait("orders", b"%d" % number)
    assert fault.count == 1
    fault.remove()
    assert await world.kafka.faults() == []
    async with AIOKafkaConsumer(
        "orders",
        bootstrap_servers=world.bootstrap_servers,
        group_id="g",
        auto_offset_reset="earliest",
    ) as consumer:
        return [(await consumer.getone()).value for _ in range(10)]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes() -> None:
    first, again, other = (simulate(send_and_read, seed=seed, brokers=3) for seed in (1, 1, 2))
    assert first.value == other.value == [b"%d" % number for number in range(10)]
    assert first.digest == again.digest != other.digest
    assert first.virtual_s == again.virtual_s > 0
    assert first.byte_count > 1_000
    assert first.audit.covered == 10
    assert "Produce" in {request.api for request in first.journal}


def test_faults_of_the_start_and_conditions_of_the_network_apply() -> None:
    async def main(world: SimulatedWorld) -> int:
        assert world.network.delay_ms_max == 100
        async with AIOKafkaProducer(bootstrap_servers=world.bootstrap_servers) as producer:
            await producer.send_and_wait("orders", b"one")
        [fault] = await world.kafka.faults()
        return fault.count

    rule = {"api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "times": 2}
    result = simulate(main, faults=[rule], network=NetworkConditions(delay_ms_max=100))
    assert result.value == 2


@pytest.mark.parametrize(
    "action",
    [
        *({"drop": "before_response", "drop_by": by} for by in ("reset", "half_close")),
        {"drop": "before_handling", "drop_by": "stop_reading"},
        {"trickle_bytes": 3, "trickle_ms": 5},
        {"response_bytes_per_second": 100},
    ],
    ids=str,
)
def test_a_producer_of_a_world_goes_on_after_faults_of_its_connections(
    action: dict[str, object],
) -> None:
    async def main(world: SimulatedWorld) -> list[bytes | None]:
        async with AIOKafkaProducer(
            bootstrap_servers=world.bootstrap_servers, enable_idempotence=True
        ) as producer:
            for number in range(3):
                await producer.send_and_wait("orders", b"%d" % number)
        [fault] = await world.kafka.faults()
        assert fault.count == 1
        return [record.value for record in await world.kafka.records("orders")]

    rule = {"api": "Produce", "skip": 1, "times": 1, **action}
    assert simulate(main, faults=[rule]).value == [b"0", b"1", b"2"]


def test_nothing_of_a_world_is_left() -> None:
    async def main(world: SimulatedWorld) -> "weakref.ref[asyncio.AbstractEventLoop]":
        async with AIOKafkaProducer(bootstrap_servers=world.bootstrap_servers) as producer:
            await producer.send_and_wait("orders", b"one")
        return weakref.ref(asyncio.get_running_loop())

    gc.freeze()  # as programs do that run many worlds
    try:
        assert simulate(main).value() is None
    finally:
        gc.unfreeze()


def test_the_brokers_have_the_virtual_time() -> None:
    async def main(world: SimulatedWorld) -> int:
        before_ms = await world.kafka.now_ms()
        await asyncio.sleep(3_600)
        return await world.kafka.now_ms() - before_ms

    assert simulate(main).value == 3_600_000


def test_an_error_names_the_seed() -> None:
    async def main(_world: SimulatedWorld) -> None:
        await asyncio.sleep(2)
        raise KeyError("orders")

    with pytest.raises(KeyError) as error:
        simulate(main, seed=7)
    [note] = error.value.__notes__
    assert note.startswith("seed 7, 2 virtual seconds after the start")
    assert "--mock-kafka-seed 7" in note


def test_what_waits_for_ever_is_found() -> None:
    async def main(_world: SimulatedWorld) -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match=r"nothing can ever happen again; 1 tasks wait:"):
        simulate(main)


def test_the_names_are_public() -> None:
    assert mock_kafka.simulate is simulate
    assert mock_kafka.simulated is simulated


@simulated(seeds=3, network=lambda random: NetworkConditions(delay_ms_max=random.randint(1, 9)))
async def test_a_test_runs_with_each_seed(world: SimulatedWorld, tmp_path: object) -> None:
    assert world.seed in range(3)
    assert tmp_path is not None
    assert world.random.random() != world.random.random()


@pytest.mark.slow
def test_pytest_repeats_one_seed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import mock_kafka

        @mock_kafka.simulated(seeds=4)
        async def test_seed(world):
            assert world.seed < 100
        """
    )
    every = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    every.assert_outcomes(passed=4)
    one = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--mock-kafka-seed", "412")
    one.assert_outcomes(failed=1)
    one.stdout.fnmatch_lines(["*seed 412, *"])
