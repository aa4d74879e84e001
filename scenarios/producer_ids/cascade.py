"""KIP-936, rejected alternative 4: six brokers for 200 producer ids each, and one of them goes.

A broker's ids move with its partitions to brokers that then have too many themselves. The ids were
all given out before, so no limit on giving them out would help; the quota on using them does.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from client import NewTopic, clock, open_admin
from client.security import SaslSettings, Security
from mock_kafka import DEFAULT, ConfigValue, MockKafka
from scenarios.picture import require_matplotlib
from scenarios.producer_ids.cascade_picture import Stage, draw
from scenarios.producer_ids.quick_producer import QuickProducer, place_of
from scenarios.table import text_table

IDS_MAX = 200
USERS = tuple(f"user{number}" for number in range(1, 21))
QUOTA = 4
"""With 20 users a broker takes up to 80 ids, and room is left for all of another one."""

WINDOW_S = 3_600
_TOPIC = "t"
_DEATH = re.compile(r"broker stopped\b.*\bbroker=(\d+)")
_LOG_LOOKS, _LOG_LOOK_MS = 200, 50
"""The log is read by a separate thread, which may be late."""


class Placed(NamedTuple):
    """A partition: how many ids want to write there, and who leads it, then who is next."""

    ids: int
    replicas: tuple[int, ...]


PARTITIONS = (
    Placed(60, (1, 2, 3, 4, 5, 6)),
    Placed(40, (1, 3, 4, 5, 6, 2)),
    Placed(75, (2, 3, 4, 5, 6, 1)),
    Placed(75, (2, 4, 5, 6, 1, 3)),
    Placed(50, (3, 4, 5, 6, 1, 2)),
    Placed(50, (3, 5, 6, 1, 2, 4)),
    Placed(60, (4, 5, 6, 1, 2, 3)),
    Placed(60, (4, 6, 1, 2, 3, 5)),
    Placed(50, (5, 6, 1, 2, 3, 4)),
    Placed(50, (5, 1, 2, 3, 4, 6)),
    Placed(45, (6, 1, 2, 3, 4, 5)),
    Placed(45, (6, 2, 3, 4, 5, 1)),
)
"""Of the brokers 1 to 6: 100, 150, 100, 120, 100 and 90 ids, as the text has them."""

BROKERS = tuple(sorted(PARTITIONS[0].replicas))


@dataclass(slots=True)
class CascadeResult:
    """What became of a cluster when broker 1 went."""

    refused: int
    deaths: list[int]
    """Brokers that ended for want of memory, in their order."""
    stages: list[Stage]
    moved: int = 0
    resumed: list[int] = field(default_factory=list)
    """How many of the moved producers had written at their new leader, at once and each 15 min."""


def run(out: Path | None) -> int:
    """Let broker 1 go, without the quota and with it; 1 when it doesn't come as the text has it."""
    if out is not None:
        require_matplotlib()
    off, on = let_go(None), let_go(QUOTA)
    for name, outcome in (("quota off", off), (f"producer_ids_rate={QUOTA} for each user", on)):
        print(f"{name}: {outcome.refused} ids refused\n")
        print(
            text_table(
                ("", *(f"broker {broker_id}" for broker_id in BROKERS)), rows(outcome.stages)
            )
        )
        print()
    print(
        f"with the quota, producers of broker 1 that wrote at its successors, of {on.moved}:"
        f" {', '.join(map(str, on.resumed))} (at once, then every {_refill_s()} s)"
    )
    if out is not None:
        print(f"\n{draw(off.stages, on.stages, IDS_MAX, out)}")
    broken = broken_promises(off, on)
    print("\n".join(["", *broken]) if broken else "\nwith the quota no other broker died")
    return 1 if broken else 0


def rows(stages: Sequence[Stage]) -> list[tuple[str, ...]]:
    """A line a stage: the ids that each broker leads, `!` with too many, `-` when it is gone."""

    def cell(ids: int | None) -> str:
        return "-" if ids is None else f"{ids} !" if ids > IDS_MAX else str(ids)

    return [
        (stage.name, *(cell(stage.ids[broker_id]) for broker_id in BROKERS)) for stage in stages
    ]


def broken_promises(off: CascadeResult, on: CascadeResult) -> list[str]:
    """What did not come as the KIP has it; empty when all did."""
    broken = []
    if sorted(off.deaths) != list(BROKERS[1:]):
        broken.append(f"without the quota brokers {off.deaths} died, and not all")
    if on.deaths:
        broken.append(f"with the quota brokers {on.deaths} died")
    if not on.moved or on.resumed[-1:] != [on.moved]:
        broken.append(f"of {on.moved} moved producers so many went on: {on.resumed}")
    return broken


def let_go(quota: int | None) -> CascadeResult:
    """Fill a cluster, let broker 1 go, and see who follows."""
    config: dict[str, ConfigValue] = {
        "listeners": "SASL_PLAINTEXT://:0",
        "sasl.users": ",".join(f"{user}:{user}" for user in USERS),
        "broker.clock": "standing",
        "broker.max.producer.ids": IDS_MAX,
        "connections.max.idle.ms": 24 * 3_600_000,
        "producer.id.quota.window.size.seconds": WINDOW_S,
    }
    with (
        MockKafka(len(BROKERS), config) as lab,
        ExitStack() as stack,
    ):
        _create_topic(lab)
        if quota is not None:
            lab.quota(user=DEFAULT, producer_ids_rate=quota)
        kept, refused = _fill(lab, stack)
        stored = _stored(lab)
        lab.stop_broker(1)
        alive = _await_rest(lab)
        deaths = _deaths(lab, len(BROKERS) - 1 - len(alive))
        outcome = CascadeResult(refused, deaths, stages_of(stored, deaths))
        if alive:
            outcome.moved = len(kept)
            outcome.resumed = _write_on(lab, kept)
        return outcome


def stages_of(stored: Mapping[int, int], deaths: Sequence[int]) -> list[Stage]:
    """Who led how many of the ids stored in each partition, when broker 1 went and then these."""
    gone: set[int] = set()
    stages = [Stage("before", _led(stored, gone))]
    for broker_id in (1, *deaths):
        gone.add(broker_id)
        stages.append(Stage(f"broker {broker_id} fails", _led(stored, gone)))
    return stages


def _led(stored: Mapping[int, int], gone: set[int]) -> dict[int, int | None]:
    led: dict[int, int | None] = {
        broker_id: None if broker_id in gone else 0 for broker_id in BROKERS
    }
    for index, placed in enumerate(PARTITIONS):
        leader = next((replica for replica in placed.replicas if replica not in gone), None)
        if leader is not None:
            led[leader] = (led[leader] or 0) + stored.get(index, 0)
    return led


def _create_topic(lab: MockKafka) -> None:
    security = Security(sasl=SaslSettings("PLAIN", USERS[0], USERS[0]))
    with open_admin(lab.bootstrap_servers, client_id="cascade", security=security) as admin:
        assignments = tuple(partition.replicas for partition in PARTITIONS)
        admin.create_topics([NewTopic(_TOPIC, assignments=assignments)])


def _fill(lab: MockKafka, stack: ExitStack) -> tuple[list[tuple[QuickProducer, int]], int]:
    """All ids write; gives the producers of broker 1 with their partitions, and the refusals."""
    now_ms = lab.now_ms()
    servers = lab.bootstrap_servers.split(",")
    kept, refused = [], 0
    for index, placed in enumerate(PARTITIONS):
        leader, place = placed.replicas[0], place_of(lab, _TOPIC, index)
        for number in range(placed.ids):
            user = USERS[number % len(USERS)]
            producer = QuickProducer(servers[leader - 1], user, now_ms)
            is_refused = producer.write(place).error is not None
            refused += is_refused
            if leader == 1 and not is_refused:
                stack.callback(producer.close)
                kept.append((producer, index))
            else:
                producer.close()
    return kept, refused


def _stored(lab: MockKafka) -> dict[int, int]:
    partitions = lab.control.ask("GET", f"/v1/topics/{_TOPIC}")["partitions"]
    return {partition["partition"]: partition["producers"] for partition in partitions}


def _await_rest(lab: MockKafka) -> list[int]:
    """The brokers that are left when nobody dies any more."""
    before: list[int] | None = None
    while True:
        # What is due is done before this responses.
        lab.advance(ms=1)
        alive = [
            broker["node_id"]
            for broker in lab.control.ask("GET", "/v1/brokers")
            if broker["is_alive"]
        ]
        if alive == before:
            return alive
        before = alive


def _deaths(lab: MockKafka, count: int) -> list[int]:
    """The brokers that ran out of memory, in the order in which the log names them."""
    for _ in range(_LOG_LOOKS):
        found = [match[1] for line in lab.log_lines() if (match := _DEATH.search(line))]
        if len(found) >= count:
            break
        clock.sleep_ms(_LOG_LOOK_MS)
    return list(map(int, found))


def _write_on(lab: MockKafka, waiting: Sequence[tuple[QuickProducer, int]]) -> list[int]:
    """Each writes at its new leader, and again when the quota lets one more in."""
    resumed: list[int] = []
    moved = len(waiting)
    places = [place_of(lab, _TOPIC, index) for index in range(len(PARTITIONS))]
    servers = lab.bootstrap_servers.split(",")
    for round_number in range(2 * QUOTA):
        if round_number:
            lab.advance(ms=_refill_s() * 1_000)
        waiting = [
            (producer, index)
            for producer, index in waiting
            if producer.write(places[index], servers[PARTITIONS[index].replicas[1] - 1]).error
        ]
        resumed.append(moved - len(waiting))
        if not waiting:
            break
    return resumed


def _refill_s() -> int:
    return WINDOW_S // QUOTA
