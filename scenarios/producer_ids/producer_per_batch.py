"""A client that makes a producer for a batch, and closes it behind it."""

from collections.abc import Callable
from pathlib import Path

from scenarios.producer_ids.growth import Story, World, run_story
from scenarios.producer_ids.quick_producer import QuickProducer
from scenarios.producer_ids.real_clients import CARELESS


def start(world: World) -> Callable[[int], None]:
    """What is refused is lost: the next batch has the next producer."""

    def play(tries: int) -> None:
        for _ in range(tries):
            producer = QuickProducer(world.lab.bootstrap_servers, CARELESS, world.now_ms)
            world.count(producer.write(world.place))
            producer.close()

    return play


STORY = Story("producer-per-batch", "A new producer for every batch", start, "aiokafka")


def run(out: Path | None) -> int:
    """Live through it; see `run_story`."""
    return run_story(STORY, out)
