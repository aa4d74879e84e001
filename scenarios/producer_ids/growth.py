"""A careless user and a careful one on a broker without the quota, and on one with it, for hours.

Both clusters live through the same at the same time, step by step; their clocks stand, and are
moved on between the steps.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from mock_kafka import DEFAULT, ConfigValue, MockKafka
from scenarios.clients.installed import ClientName
from scenarios.picture import require_matplotlib
from scenarios.producer_ids.growth_picture import Sample, draw
from scenarios.producer_ids.quick_producer import TopicPartition, Written, place_of
from scenarios.producer_ids.real_clients import (
    CAREFUL,
    CARELESS,
    CarefulClient,
    write_once,
)
from scenarios.table import text_table

STEP_S = 300
WINDOW_S = 3_600
SPEED_TOLERATED = 0.5
"""Of what the careful user has beside the broker without the quota; machines are busy."""

_JOURNAL_LINES = 1_000
"""More than the requests of one step of the careful user."""


class Size(NamedTuple):
    """How long, how many new producers (or batches) in a step, the quota, and the careful one."""

    hours: int = 4
    tries: int = 15
    quota: int = 40
    records: int = 100


@dataclass(slots=True)
class World:
    """A cluster, and what was counted there."""

    lab: MockKafka
    quota: int | None
    place: TopicPartition
    careful: CarefulClient
    began_ms: int
    elapsed_ms: int = 0
    tried: int = 0
    refused: int = 0
    other_errors: int = 0
    throttle_ms: int = 0
    throttle_max_ms: int = 0
    """Since the last sample."""
    careful_throttle_max_ms: int = 0
    careful_failed: int = 0
    """Its Produce requests that were answered with an error, late or not at all, tried again or
    not."""
    careful_by_step: list[int] = field(default_factory=list)
    """Its records that were stored at the time they were sent, by the cluster's clock."""
    journal_number: int = 0
    """The last line of the journal that was looked at."""
    records_per_s: list[float] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    @property
    def now_ms(self) -> int:
        """The cluster's time; what producers left there expires by it."""
        return self.began_ms + self.elapsed_ms

    def count(self, written: Written) -> None:
        """Note what became of a batch."""
        self.tried += 1
        self.throttle_ms += written.throttle_time_ms
        self.throttle_max_ms = max(self.throttle_max_ms, written.throttle_time_ms)
        if written.throttle_time_ms > 0:
            self.refused += 1
        elif written.error is not None:
            self.other_errors += 1


class Story(NamedTuple):
    """What the careless user does in a step: `play(world, tries)`, kept up from step to step."""

    name: str
    title: str
    start: Callable[[World], Callable[[int], None]]
    real_client: ClientName
    """The library that does it, too, once an hour; see `real_clients.py`."""
    error_code: str = "THROTTLING_QUOTA_EXCEEDED"
    faults: tuple[dict[str, Any], ...] = ()


def run_story(story: Story, out: Path | None, size: Size | None = None) -> int:
    """Live through a story, print its table, draw it into `out`; 1 when a promise is broken."""
    if out is not None:
        require_matplotlib()
    size = size or Size()
    off, on = live_through(story, size)
    print(f"{story.title}\n{size.hours} h, producer_ids_rate={size.quota} for an hour or none\n")
    print(text_table(("", "quota off", "quota on"), rows(off, on)))
    if out is not None:
        print(f"\n{draw(story.name, story.title, off.samples, on.samples, out)}")
    broken = broken_promises(off, on)
    print("\n".join(["", *broken]) if broken else "\nwith the quota the promises were kept")
    return 1 if broken else 0


def live_through(story: Story, size: Size) -> tuple[World, World]:
    """A world without the quota and one with it, after all those hours."""
    with ExitStack() as stack:
        worlds = [_begin(story, size, quota, stack) for quota in (None, size.quota)]
        plays = [story.start(world) for world in worlds]
        for world in worlds:
            _write_carefully(world, size.records)
            world.records_per_s.clear()  # the first is that of connecting
        steps = size.hours * WINDOW_S // STEP_S
        for step in range(steps + 1):
            for world, play in zip(worlds, plays, strict=True):
                if step:
                    world.lab.advance(ms=STEP_S * 1_000)
                    world.elapsed_ms += STEP_S * 1_000
                play(size.tries)
                if (step * STEP_S) % WINDOW_S == 0:
                    _count_real_client(world, story.real_client)
                _write_carefully(world, size.records)
                world.samples.append(_sample(world))
        return worlds[0], worlds[1]


def rows(off: World, on: World) -> list[tuple[str, str, str]]:
    """The lines of the table."""

    def line(name: str, value: Callable[[World], object]) -> tuple[str, str, str]:
        return name, str(value(off)), str(value(on))

    return [
        line("batches that the careless user tried", lambda world: world.tried),
        line("  ids it activated", lambda world: world.samples[-1].ids),
        line("  promised at most", lambda world: world.samples[-1].promised or "-"),
        line("  refused by the quota", lambda world: world.refused),
        line("  other errors", lambda world: world.other_errors),
        line("  throttled, in all", lambda world: f"{world.throttle_ms // 1000} s"),
        line("producer state, ids", lambda world: world.samples[-1].state_ids),
        line("producer state, bytes", lambda world: world.samples[-1].state_bytes),
        line("records of the careful user", lambda world: world.careful.delivered),
        line("  errors", lambda world: len(world.careful.errors)),
        line("  its requests that failed", lambda world: world.careful_failed),
        line("  throttled, longest", lambda world: f"{world.careful_throttle_max_ms} ms"),
        line("  records/s", lambda world: f"{median(world.records_per_s):,.0f}"),
    ]


def broken_promises(off: World, on: World) -> list[str]:
    """What did not come as KIP-936 wants it; empty when all did."""
    broken = [
        f"after {sample.hours:g} h there are {sample.ids} ids, promised were {sample.promised}"
        for sample in on.samples
        if sample.promised is not None and sample.ids > sample.promised
    ]
    last = on.samples[-1]
    if off.samples[-1].ids <= (last.promised or 0):
        broken.append("without the quota there were not more ids than with it: nothing is shown")
    if on.refused == 0:
        broken.append("the quota refused nothing")
    for name, world in (("off", off), ("on", on)):
        careful = world.careful
        if careful.errors or world.careful_throttle_max_ms > 0:
            broken.append(f"quota {name}: the careful user had errors or waits: {careful.errors}")
        if world.careful_failed:
            broken.append(f"quota {name}: {world.careful_failed} of its requests failed")
    if on.careful_by_step != off.careful_by_step:
        broken.append("the careful user got fewer records through with the quota")
    if median(on.records_per_s) < SPEED_TOLERATED * median(off.records_per_s):
        broken.append("the careful user was slower with the quota")
    return broken


def _begin(story: Story, size: Size, quota: int | None, stack: ExitStack) -> World:
    config: dict[str, ConfigValue] = {
        "listeners": "SASL_PLAINTEXT://:0",
        "sasl.users": f"{CARELESS}:{CARELESS},{CAREFUL}:{CAREFUL}",
        "broker.clock": "standing",
        "producer.id.quota.error.code": story.error_code,
        "producer.id.quota.window.size.seconds": WINDOW_S,
    }
    lab = stack.enter_context(MockKafka(config=config))
    for topic in (CARELESS, CAREFUL):
        lab.create_topic(topic, 1)
    if quota is not None:
        lab.quota(user=DEFAULT, producer_ids_rate=quota)
    for rule in story.faults:
        lab.add_fault(user=CARELESS, **rule)
    careful = CarefulClient(lab.bootstrap_servers)
    stack.callback(careful.close)
    return World(lab, quota, place_of(lab, CARELESS), careful, lab.now_ms())


def _write_carefully(world: World, count: int) -> None:
    before = world.careful.delivered
    world.records_per_s.append(count / world.careful.write(count))
    # The clock stands: what had to wait for anything is not stored by now.
    world.careful_by_step.append(world.careful.delivered - before)
    seen = world.lab.requests(
        user=CAREFUL,
        api="Produce",
        since=world.journal_number,
        has_messages=False,
        limit=_JOURNAL_LINES,
    )
    world.journal_number = seen[-1].number
    longest_ms = max(request.throttle_time_ms for request in seen)
    world.careful_throttle_max_ms = max(world.careful_throttle_max_ms, longest_ms)
    world.careful_failed += sum(
        bool(request.errors) or request.muted or request.outcome != "responded" for request in seen
    )


def _count_real_client(world: World, name: ClientName) -> None:
    is_delivered = write_once(name, world.lab.bootstrap_servers)
    if is_delivered is None:
        return
    world.tried += 1
    world.refused += not is_delivered


def _sample(world: World) -> Sample:
    def measured(name: str) -> float | None:
        values: list[float] = [
            metric.value
            for metric in world.lab.metrics()
            if (metric.group, metric.name) == ("ProducerIds", name)
            and metric.tags.get("user") == CARELESS
            and metric.value is not None
        ]
        return values[0] if values else None

    quota = world.quota
    elapsed_s = world.elapsed_ms // 1_000
    throttle_max_ms, world.throttle_max_ms = world.throttle_max_ms, 0
    of_careless = {"topic": CARELESS, "limit": 0}
    state = world.lab.control.ask("GET", "/v1/producers", query={"limit": 0})
    return Sample(
        hours=elapsed_s / 3_600,
        ids=world.lab.control.ask("GET", "/v1/producers", query=of_careless)["count"],
        promised=None if quota is None else quota + elapsed_s * quota // WINDOW_S,
        tokens=measured("tokens"),
        throttle_max_s=throttle_max_ms / 1_000,
        state_ids=state["count"],
        state_bytes=state["bytes"],
    )
