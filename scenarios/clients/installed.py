"""Load the wrapper of a client library, if the library is installed.

They are the libraries of the user's environment: a scenario leaves out a client that is missing.
"""

import importlib.util
from typing import Literal

from scenarios.clients.interface import Client

ClientName = Literal["kafka-python", "aiokafka", "confluent-kafka"]
_MODULES: dict[ClientName, str] = {
    "kafka-python": "kafka",
    "aiokafka": "aiokafka",
    "confluent-kafka": "confluent_kafka",
}


def is_installed(name: ClientName) -> bool:
    """Return whether the library can be imported."""
    return importlib.util.find_spec(_MODULES[name]) is not None


def load_client(name: ClientName) -> Client:
    """Return the wrapper of a library.

    Raises:
        ImportError: the library is not installed, or too old.
    """
    # ruff: noqa: PLC0415 - a module here imports its library
    match name:
        case "kafka-python":
            from scenarios.clients.kafka_python import KAFKA_PYTHON

            return KAFKA_PYTHON
        case "aiokafka":
            from scenarios.clients.aiokafka import AIOKAFKA

            return AIOKAFKA
        case "confluent-kafka":
            from scenarios.clients.confluent_kafka import CONFLUENT

            return CONFLUENT
