"""A client that makes a new producer after any error, where the old one would have recovered."""

from collections.abc import Callable
from pathlib import Path

from scenarios.producer_ids.growth import Story, World, run_story
from scenarios.producer_ids.quick_producer import QuickProducer
from scenarios.producer_ids.real_clients import CARELESS


def start(world: World) -> Callable[[int], None]:
    """The producer stays for as long as it is answered without an error."""
    kept: list[QuickProducer] = []

    def play(tries: int) -> None:
        for _ in range(tries):
            if not kept:
                servers = world.lab.bootstrap_servers
                kept.append(QuickProducer(servers, CARELESS, world.now_ms))
            written = kept[0].write(world.place)
            world.count(written)
            if written.error is not None:
                kept.pop().close()
        # A connection that nobody uses for some steps would be closed by the broker.
        while kept:
            kept.pop().close()

    return play


STORY = Story(
    "producer-per-error",
    "A new producer after every error, where the old one would have gone on",
    start,
    "kafka-python",
    # Before the append: no new id is activated, whether the quota has refused it or not.
    faults=({"api": "Produce", "error": "REQUEST_TIMED_OUT", "at": "before_handling", "every": 3},),
)


def run(out: Path | None) -> int:
    """Live through it; see `run_story`."""
    return run_story(STORY, out)
