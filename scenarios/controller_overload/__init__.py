"""KIP-599's two experiments: a controller that is busy with topics, and brokers that fail.

5,000 topics of four partitions and three replicas on nine brokers, created by ten requests of 50
topics a second, and deleted by one request. The KIP measured about two minutes for 20,000
partitions, so each takes 6 ms here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mock_kafka import DEFAULT, ConfigValue, MockKafka
from scenarios.controller_overload.experiment import (
    PROBE,
    Failure,
    OverloadResult,
    create_requests,
    delete_request,
    run_experiment,
)
from scenarios.controller_overload.picture import draw
from scenarios.picture import require_matplotlib
from scenarios.table import text_table

BROKER_COUNT = 9
TOPIC_COUNT = 5000
PARTITIONS_PER_TOPIC = 4
TOPICS_PER_REQUEST = 50
REQUEST_INTERVAL_MS = 100
MUTATION_TIME_MS = 6
QUOTA = 100
"""Partitions per second: less than the 167 that the controller can do."""
BURST = QUOTA * 11
"""What the quota admits at once: `controller.quota.window.num` is 11, of one second each."""
QUEUE_MS_MAX = (BURST + PARTITIONS_PER_TOPIC) * MUTATION_TIME_MS
"""The longest queue that the quota allows: the burst and the topic that takes it below zero."""
LOOK_MS = 500
"""How much later than it happened an election may be seen."""

FAILURES = tuple(
    Failure(seconds * 1000, broker)
    for seconds, broker in ((1, 9), (10, 7), (30, 5), (60, 3), (90, 2))
)
"""No partition of the topic `probe` has all its replicas on these brokers."""


class Pair(NamedTuple):
    """What came of both experiments in one cluster."""

    creation: OverloadResult
    deletion: OverloadResult


def run(out: Path | None) -> int:
    """Run both experiments without and with the quota; 1 when a promise did not hold."""
    if out is not None:
        require_matplotlib()
    off, on = run_pair(None), run_pair(QUOTA)
    for title, without, with_quota in (
        ("5,000 topics are created, 50 in each of ten requests a second", off[0], on[0]),
        ("5,000 topics are deleted by one request", off[1], on[1]),
    ):
        print(f"{title}\n")
        header = ("", "quota off", f"controller_mutation_rate={QUOTA}")
        print(text_table(header, rows(without, with_quota)))
        print()
    if out is not None:
        print(draw((off.creation, on.creation), (off.deletion, on.deletion), out))
    broken = broken_promises(off, on, TOPIC_COUNT)
    promise = f"with the quota every election came within {(QUEUE_MS_MAX + LOOK_MS) / 1000:.1f} s"
    print("\n".join(broken) if broken else promise)
    return 1 if broken else 0


def run_pair(quota: float | None, topic_count: int = TOPIC_COUNT) -> Pair:
    """Create the topics and then delete them in one cluster."""
    names = [f"topic-{number}" for number in range(topic_count)]
    batches = [
        names[first : first + TOPICS_PER_REQUEST]
        for first in range(0, topic_count, TOPICS_PER_REQUEST)
    ]
    config: dict[str, ConfigValue] = {
        "broker.clock": "standing",
        "connections.max.idle.ms": -1,
        "controller.mutation.time.us": MUTATION_TIME_MS * 1000,
    }
    with MockKafka(BROKER_COUNT, config) as lab:
        lab.create_topic(PROBE, BROKER_COUNT, 3)
        if quota is not None:
            lab.quota(user=DEFAULT, controller_mutation_rate=quota)
        requests = create_requests(batches, REQUEST_INTERVAL_MS)
        creation = run_experiment(lab, requests, FAILURES)
        _restore(lab)
        deletion = run_experiment(lab, delete_request(names), FAILURES)
    return Pair(creation, deletion)


def _restore(lab: MockKafka) -> None:
    """Start the brokers again, give them their partitions of `probe`, and fill the bucket."""
    for failure in FAILURES:
        lab.start_broker(failure.broker)
    for index in range(BROKER_COUNT):
        lab.move_leader(PROBE, index, index + 1)
    lab.advance(seconds=60)


def rows(off: OverloadResult, on: OverloadResult) -> list[tuple[str, str, str]]:
    """One line for each number of the outcomes."""

    def line(name: str, value_off: str, value_on: str) -> tuple[str, str, str]:
        return name, value_off, value_on

    lines = [
        line(
            f"election latency of a broker that failed after {failure.at_ms // 1000} s",
            _seconds(off.latency_ms[failure]),
            _seconds(on.latency_ms[failure]),
        )
        for failure in sorted(off.latency_ms)
    ]
    return [
        *lines,
        line("longest queue", _seconds(_queue_max(off)), _seconds(_queue_max(on))),
        line("all done after", _seconds(off.drained_ms), _seconds(on.drained_ms)),
        line("topics answered without an error", str(off.done), str(on.done)),
        line("topics answered with REQUEST_TIMED_OUT", str(off.timed_out), str(on.timed_out)),
        line("results with THROTTLING_QUOTA_EXCEEDED", str(off.refusals), str(on.refusals)),
    ]


def broken_promises(off: Pair, on: Pair, topic_count: int) -> Sequence[str]:
    """What did not come as KIP-599 has it; empty when all did."""
    broken = []
    for name, without, with_quota in zip(Pair._fields, off, on, strict=True):
        latency_ms = max(with_quota.latency_ms.values())
        if latency_ms > QUEUE_MS_MAX + LOOK_MS:
            broken.append(f"{name}: with the quota an election took {_seconds(latency_ms)}")
        work_ms = topic_count * PARTITIONS_PER_TOPIC * MUTATION_TIME_MS
        if max(without.latency_ms.values()) < 0.8 * work_ms:
            broken.append(f"{name}: without the quota no election waited for most of the work")
        broken += [
            f"{name}: {outcome.others} other errors, {outcome.done} topics done,"
            f" {outcome.timed_out} timed out"
            for outcome in (without, with_quota)
            if outcome.others or outcome.done + outcome.timed_out != topic_count
        ]
    return broken


def _queue_max(outcome: OverloadResult) -> float:
    return max(sample.queue_ms for sample in outcome.samples)


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s"
