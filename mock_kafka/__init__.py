"""The door users enter by: a Kafka cluster for the length of a `with` block.

    from mock_kafka import MockKafka

    with MockKafka(brokers=3, config={"num.partitions": 6}) as kafka:
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
        kafka.drop_response(api="Produce", times=1)

The cluster runs in a process of its own; clients reach it over TCP like any other. docs/testing.md
tells what can be done to it. With pytest there is a fixture `mock_kafka`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mock_kafka.broker_process import StartError
    from mock_kafka.cluster import ConfigValue, MockKafka
    from mock_kafka.control import ControlError
    from mock_kafka.fault import Fault
    from mock_kafka.verbs import DEFAULT
    from mock_kafka.views import Metric, Partition, Record, Request, ShadowCount, ShadowEvent, Topic

__all__ = [
    "DEFAULT",
    "ConfigValue",
    "ControlError",
    "Fault",
    "Metric",
    "MockKafka",
    "Partition",
    "Record",
    "Request",
    "ShadowCount",
    "ShadowEvent",
    "StartError",
    "Topic",
]

_MODULES = {
    "DEFAULT": "verbs",
    "ConfigValue": "cluster",
    "ControlError": "control",
    "Fault": "fault",
    "Metric": "views",
    "MockKafka": "cluster",
    "Partition": "views",
    "Record": "views",
    "Request": "views",
    "ShadowCount": "views",
    "ShadowEvent": "views",
    "StartError": "broker_process",
    "Topic": "views",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for: pytest imports this package in every project that has it."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
