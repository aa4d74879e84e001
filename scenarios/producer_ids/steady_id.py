"""KIP-936, rejected alternative 8: an id in steady use while the oldest layers go.

A user writes with one producer for hours. Beside it the same user's other clients use up every
token, so that the id would be refused the moment it were called new. The same sightings go to a
textbook filter of layers, which adds an id where it is first seen and nowhere else.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mock_kafka import ConfigValue, MockKafka
from scenarios.picture import require_matplotlib
from scenarios.producer_ids.quick_producer import QuickProducer, place_of
from scenarios.producer_ids.real_clients import CAREFUL, CARELESS, CarefulClient
from scenarios.producer_ids.steady_picture import Layer, Timeline, draw
from scenarios.table import text_table

WINDOW_S = 3_600
LAYERS = 4
STEP_S = 300
QUOTA = 4
HOURS = 8
CROWD = 2
"""New ids of the same user in each step: more than the tokens that come back."""


class TextbookFilter:
    """Layers without the refresh, with sets for bits, so that nothing is found by mistake."""

    def __init__(self, window_s: int, layer_count: int) -> None:
        self._window_s = window_s
        self._span_s = window_s // layer_count
        self._layers: list[tuple[int, set[int]]] = []
        self.begun_s: list[int] = []
        """When each layer so far began."""

    def track(self, producer_id: int, now_s: int) -> bool:
        """Whether an id is new, which it is no more afterwards."""
        self._layers = [layer for layer in self._layers if now_s - layer[0] < self._window_s]
        if any(producer_id in ids for _, ids in self._layers):
            return False
        if not self._layers or now_s - self._layers[-1][0] >= self._span_s:
            self._layers.append((now_s, set()))
            self.begun_s.append(now_s)
        self._layers[-1][1].add(producer_id)
        return True


class Seen(NamedTuple):
    """One step: was the id called new, by the broker and by the textbook; the tokens left."""

    at_s: int
    is_new: bool
    is_new_by_textbook: bool
    tokens: float


@dataclass(slots=True)
class SteadyUse:
    """What was seen of the id, and of its user's other ids."""

    seen: list[Seen] = field(default_factory=list)
    layers: dict[int, int] = field(default_factory=dict)
    """The broker's: when each began, when it goes, in s."""
    textbook_begun_s: list[int] = field(default_factory=list)
    crowd_refused: int = 0
    delivered: int = 0
    errors: list[str] = field(default_factory=list)
    throttle_max_ms: int = 0

    @property
    def new_at_s(self) -> list[int]:
        """When the broker called the id new."""
        return [use.at_s for use in self.seen if use.is_new]

    @property
    def textbook_new_at_s(self) -> list[int]:
        """When the textbook did."""
        return [use.at_s for use in self.seen if use.is_new_by_textbook]


def run(out: Path | None) -> int:
    """Write for hours; 1 when the id is ever called new again."""
    if out is not None:
        require_matplotlib()
    outcome = use_steadily(HOURS)
    print(
        f"one id, a record every {STEP_S} s for {HOURS} h, window {WINDOW_S} s, {LAYERS} layers\n"
    )
    print(text_table(("", "the broker", "without the refresh"), rows(outcome)))
    print(
        f"\nmeanwhile {outcome.crowd_refused} other ids of its user were refused;"
        f" the producer: {outcome.delivered} records, {len(outcome.errors)} errors,"
        f" longest throttle {outcome.throttle_max_ms} ms"
    )
    if out is not None:
        print(f"\n{draw(*timelines(outcome), out)}")
    broken = broken_promises(outcome)
    print("\n".join(["", *broken]) if broken else "\nthe id was new once, and never again")
    return 1 if broken else 0


def use_steadily(hours: int) -> SteadyUse:
    """What becomes of an id that is used every five minutes."""
    config: dict[str, ConfigValue] = {
        "listeners": "SASL_PLAINTEXT://:0",
        "sasl.users": f"{CAREFUL}:{CAREFUL}",
        "broker.clock": "standing",
        "producer.id.quota.window.size.seconds": WINDOW_S,
        "producer.id.quota.cache.layer.count": LAYERS,
    }
    outcome, textbook = SteadyUse(), TextbookFilter(WINDOW_S, LAYERS)
    with MockKafka(config=config) as lab:
        for topic in (CAREFUL, CARELESS):
            lab.create_topic(topic, 1)
        lab.quota(user=CAREFUL, producer_ids_rate=QUOTA)
        began_ms = lab.now_ms()
        producer = CarefulClient(lab.bootstrap_servers)
        try:
            for at_s in range(0, hours * 3_600 + 1, STEP_S):
                if at_s:
                    lab.advance(ms=STEP_S * 1_000)
                    _crowd(lab, began_ms + at_s * 1_000, outcome, textbook, at_s)
                _use(lab, producer, outcome, textbook, at_s)
                _note_layers(lab, began_ms, outcome)
        finally:
            producer.close()
        outcome.delivered, outcome.errors = producer.delivered, producer.errors
        seen = lab.requests(api="Produce", topic=CAREFUL, has_messages=False, limit=1_000)
        outcome.throttle_max_ms = max(use.throttle_time_ms for use in seen)
        outcome.textbook_begun_s = textbook.begun_s
    return outcome


def rows(outcome: SteadyUse) -> list[tuple[str, str, str]]:
    """The lines of the table."""

    def times(times_s: list[int]) -> str:
        return ", ".join(f"{at_s / 3_600:g} h" for at_s in times_s)

    def gone(layers: dict[int, int]) -> str:
        return str(sum(expiry_s <= outcome.seen[-1].at_s for expiry_s in layers.values()))

    return [
        ("layers that went", gone(outcome.layers), gone(_textbook_layers(outcome))),
        ("called new", str(len(outcome.new_at_s)), str(len(outcome.textbook_new_at_s))),
        ("  at", times(outcome.new_at_s), times(outcome.textbook_new_at_s)),
    ]


def broken_promises(outcome: SteadyUse) -> list[str]:
    """What did not come as the KIP has it; empty when all did."""
    broken = []
    if outcome.new_at_s != [0]:
        broken.append(f"the broker called the id new at {outcome.new_at_s} s")
    if outcome.errors or outcome.throttle_max_ms:
        broken.append(f"its producer had errors {outcome.errors}, {outcome.throttle_max_ms} ms")
    if outcome.delivered != len(outcome.seen):
        broken.append(f"{outcome.delivered} of {len(outcome.seen)} records were delivered")
    if len(outcome.textbook_new_at_s) < 2 or not outcome.crowd_refused:
        broken.append("a filter without the refresh would have done: nothing is shown")
    return broken


def timelines(outcome: SteadyUse) -> tuple[Timeline, Timeline]:
    """As they are drawn: the broker, and the textbook."""
    used_s = [use.at_s for use in outcome.seen]
    broker_layers = [Layer(*layer) for layer in sorted(outcome.layers.items())]
    textbook_layers = [Layer(*layer) for layer in _textbook_layers(outcome).items()]
    return (
        Timeline("the broker", broker_layers, used_s, outcome.new_at_s),
        Timeline("without the refresh", textbook_layers, used_s, outcome.textbook_new_at_s),
    )


def _use(
    lab: MockKafka, producer: CarefulClient, outcome: SteadyUse, textbook: TextbookFilter, at_s: int
) -> None:
    # The clock stands: what changes the tokens is this record, or nothing.
    before = _tokens(lab)
    producer.write(1)
    tokens = _tokens(lab)
    assert tokens is not None
    outcome.seen.append(Seen(at_s, tokens != before, textbook.track(_STEADY, at_s), tokens))


_STEADY = -1
"""The steady id in the textbook; the crowd has those that brokers give out."""


def _crowd(
    lab: MockKafka, now_ms: int, outcome: SteadyUse, textbook: TextbookFilter, at_s: int
) -> None:
    place = place_of(lab, CARELESS)
    for _ in range(CROWD):
        with QuickProducer(lab.bootstrap_servers, CAREFUL, now_ms) as producer:
            if producer.write(place).error is None:
                textbook.track(producer.producer_id, at_s)
            else:
                outcome.crowd_refused += 1


def _tokens(lab: MockKafka) -> float | None:
    for metric in lab.metrics():
        if (metric.group, metric.name) == ("ProducerIds", "tokens"):
            return metric.value
    return None


def _note_layers(lab: MockKafka, began_ms: int, outcome: SteadyUse) -> None:
    for of_user in lab.control.ask("GET", "/v1/producer-id-filters"):
        for layer in of_user["layers"]:
            begun_s = (layer["begun_ms"] - began_ms) // 1_000
            outcome.layers[begun_s] = (layer["expires_ms"] - began_ms) // 1_000


def _textbook_layers(outcome: SteadyUse) -> dict[int, int]:
    return {begun_s: begun_s + WINDOW_S for begun_s in outcome.textbook_begun_s}
