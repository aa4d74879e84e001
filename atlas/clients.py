"""The clients of the atlas: how the adapter of each is started, and why it can't run here."""

import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

from atlas.adapters.build import (
    JAVA_VERSIONS,
    go_adapter,
    java_adapter,
    node_adapter,
    python_release,
)
from scenarios.maven import CannotRunError


class StartCommand(NamedTuple):
    """A program with its arguments, and the variables that it needs."""

    words: tuple[str, ...]
    environment: Mapping[str, str]


class Client(NamedTuple):
    """A client library in one version.

    `start` builds the adapter if necessary, and raises `CannotRunError` with what is missing.
    `warms_up` says that a process runs each workload once without a fault before it is judged.
    """

    name: str
    language: str
    start: Callable[[], StartCommand]
    warms_up: bool = False


def _python(module: str, requirement: str | None) -> Callable[[], StartCommand]:
    def start() -> StartCommand:
        if requirement is not None and importlib.util.find_spec(requirement) is None:
            raise CannotRunError(f"the package {requirement} is not installed")
        return _module(module)

    return start


def _release(requirement: str, module: str) -> Callable[[], StartCommand]:
    return lambda: _module(module, str(python_release(requirement)))


def _module(name: str, *first: str) -> StartCommand:
    """Return the command of an adapter in Python that finds packages in `first` before others."""
    # The name of this package is another one in the wheel.
    words = (sys.executable, "-m", f"{__package__}.adapters.{name}")
    path = os.pathsep.join([*first, *(folder for folder in sys.path if folder)])
    return StartCommand(words, {"PYTHONPATH": path})


def _program(build: Callable[[str], list[str]], name: str) -> Callable[[], StartCommand]:
    return lambda: StartCommand(tuple(build(name)), {})


OLDER_RELEASES = {
    "kafka-python==2.0.6": "kafka_python_2",
    "kafka-python==2.2.21": "kafka_python_2",
    "aiokafka==0.12.0": "aiokafka",
    "confluent-kafka==2.0.2": "confluent_kafka",
    "confluent-kafka==2.3.0": "confluent_kafka",
}
"""Releases of libraries in Python that programs still have, with the modules of their adapters."""

CLIENTS: dict[str, Client] = {
    client.name: client
    for client in (
        Client("kafka-python", "Python", _python("kafka_python", "kafka")),
        Client("aiokafka", "Python", _python("aiokafka", "aiokafka")),
        Client("confluent-kafka", "Python", _python("confluent_kafka", "confluent_kafka")),
        Client("mock-kafka-client", "Python", _python("mock_kafka_client", None)),
        Client("franz-go", "Go", _program(go_adapter, "franz")),
        Client("sarama", "Go", _program(go_adapter, "sarama")),
        Client("kafka-go", "Go", _program(go_adapter, "kafkago")),
        Client("kafkajs", "JavaScript", _program(node_adapter, "kafkajs")),
        Client("platformatic", "JavaScript", _program(node_adapter, "platformatic")),
        *(
            Client(name, "Java", _program(java_adapter, name), warms_up=True)
            for name in JAVA_VERSIONS
        ),
        *(
            Client(name, "Python", _release(name, module))
            for name, module in OLDER_RELEASES.items()
        ),
    )
}
"""By their ids; a version other than the default one is `name==version`."""


def atlas_version() -> str:
    """Return the version of mock-kafka, which has the adapters and the rules of the verdicts."""
    return importlib.metadata.version("mock-kafka")
