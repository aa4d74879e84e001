"""Our own broker as the Kafka of a `KafkaLane`: what it needs is the protocol alone."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atlas.clients import Client, StartCommand
from atlas.kafka_target import KafkaTarget
from atlas.situation import Expectation, OnKafka, Situation, Topic
from mock_kafka import MockKafka

ROOT = Path(__file__).parents[2]


@contextmanager
def kafka_target(**config: Any) -> Iterator[tuple[MockKafka, KafkaTarget]]:
    with MockKafka(config=config) as kafka:
        yield kafka, KafkaTarget(kafka.bootstrap_servers)


def situation(**fields: Any) -> Situation:
    values = {"topics": {"orders": Topic()}, "on_kafka": OnKafka(by="nothing"), **fields}
    return Situation(
        id="LOG-1",
        title="a situation of a test",
        area="producer",
        workload=values.pop("workload", "produce"),
        expect=Expectation(),
        **values,
    )


def scripted_client() -> Client:
    def start() -> StartCommand:
        words = (sys.executable, "-m", "tests.atlas.scripted_adapter")
        path = os.pathsep.join((str(ROOT), *sys.path))
        return StartCommand(words, {"PYTHONPATH": path, "SCRIPTED_ACTION": "deliver"})

    return Client("scripted", "Python", start)
