"""Clients that write a batch, fail, and are started again, all day long."""

from collections.abc import Callable
from pathlib import Path

from scenarios.producer_ids.growth import Story, World, run_story
from scenarios.producer_ids.quick_producer import QuickProducer
from scenarios.producer_ids.real_clients import CARELESS


def start(world: World) -> Callable[[int], None]:
    """Each start is a new producer; it writes once and dies, whatever came of it."""

    def play(tries: int) -> None:
        for _ in range(tries):
            with QuickProducer(world.lab.bootstrap_servers, CARELESS, world.now_ms) as producer:
                world.count(producer.write(world.place))

    return play


STORY = Story(
    "restart-loop",
    "Clients that fail after they produced, and are restarted again and again",
    start,
    "confluent-kafka",
    # For librdkafka THROTTLING_QUOTA_EXCEEDED would be the end of the record.
    error_code="NOT_ENOUGH_REPLICAS",
)


def run(out: Path | None) -> int:
    """Live through it; see `run_story`."""
    return run_story(STORY, out)
