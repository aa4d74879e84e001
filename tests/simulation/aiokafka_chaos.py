"""Faults of brokers and of the network around aiokafka, drawn from the seed of a world."""

import asyncio
from random import Random

from mock_kafka.simulated_world import SimulatedWorld
from simulation.network_conditions import NetworkConditions

ERRORS = {
    "Produce": ("NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS", "KAFKA_STORAGE_ERROR"),
    "Fetch": ("NOT_LEADER_OR_FOLLOWER", "KAFKA_STORAGE_ERROR"),
    "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE",),
    "JoinGroup": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
    "SyncGroup": ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"),
    "Heartbeat": ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"),
    "OffsetCommit": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
    "OffsetFetch": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
    "InitProducerId": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
    "AddPartitionsToTxn": ("CONCURRENT_TRANSACTIONS", "NOT_COORDINATOR"),
    "AddOffsetsToTxn": ("CONCURRENT_TRANSACTIONS", "NOT_COORDINATOR"),
    "TxnOffsetCommit": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
    "EndTxn": ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"),
}
"""Errors that Kafka returns to each of these requests, and that clients try again after."""
FAULTS_S = 20.0
"""How long there are faults."""
BROKERS = 3


def conditions_of(random: Random) -> NetworkConditions:
    """Return how the network behaves while there are faults."""
    conditions = NetworkConditions(delay_ms_max=random.choice((1, 5, 40)))
    if random.random() < 0.7:
        conditions.slow_chance = random.choice((0.0, 0.02, 0.1))
        conditions.slow_ms_max = random.choice((400, 3_000))
        conditions.split_chance = random.choice((0.0, 0.1, 0.5))
        conditions.cut_chance = random.choice((0.0, 0.005, 0.02))
        conditions.half_open_chance = random.choice((0.0, 0.3))
        conditions.refuse_chance = random.choice((0.0, 0.1))
        conditions.black_hole_chance = random.choice((0.0, 0.02))
    return conditions


class Chaos:
    """Disturbs the brokers of a world for `FAULTS_S`, and ends all faults then."""

    def __init__(self, world: SimulatedWorld, apis: tuple[str, ...], topic: str) -> None:
        """`apis` are those of the rules, `topic` is the one whose leaders move."""
        self._world = world
        self._random = Random(f"{world.seed}/chaos")
        self._apis = apis
        self._topic = topic
        self._interval_s = self._random.choice((0.3, 1.0, 4.0))

    async def run(self) -> None:
        """Disturb, and return when everything works again."""
        world, random = self._world, self._random
        while world.virtual_s < FAULTS_S:
            await asyncio.sleep(random.expovariate(1 / self._interval_s))
            await random.choice((self._fail, self._lose, self._delay, self._stop, self._move))()
        world.network.clear()
        await world.kafka.clear_faults()
        for broker in range(1, BROKERS + 1):
            await world.kafka.start_broker(broker)

    async def _fail(self) -> None:
        api = self._random.choice(self._apis)
        error = self._random.choice(ERRORS[api])
        await self._world.kafka.fail(api=api, error=error, times=self._random.randint(1, 3))

    async def _lose(self) -> None:
        kafka = self._world.kafka
        lose = self._random.choice((kafka.drop_request, kafka.drop_response))
        await lose(api=self._random.choice(self._apis), times=self._random.randint(1, 2))

    async def _delay(self) -> None:
        delay_ms = self._random.choice((50, 500, 3_000))
        await self._world.kafka.delay(ms=delay_ms, api=self._random.choice(self._apis), times=2)

    async def _stop(self) -> None:
        broker = self._random.randint(1, BROKERS)
        kafka = self._world.kafka
        if self._random.random() < 0.3:
            await kafka.isolate_broker(broker, elect=True)
        else:
            await kafka.stop_broker(broker, controlled=self._random.random() < 0.5)
        await asyncio.sleep(self._random.random() * self._random.choice((1, 3, 8)))
        await kafka.start_broker(broker)

    async def _move(self) -> None:
        topic = await self._world.kafka.topic(self._topic)
        partition = self._random.randrange(len(topic.partitions))
        await self._world.kafka.move_leader(
            self._topic, partition, self._random.randint(1, BROKERS)
        )
