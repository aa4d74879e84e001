"""A Kafka cluster for tests, with a producer and an admin client. Users import this package.

    from mock_kafka import MockKafka

    with MockKafka(brokers=3, config={"num.partitions": 6}) as kafka:
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
        kafka.drop_response(api="Produce", times=1)

The cluster runs in a separate process, and clients connect to it over TCP. docs/testing.md has its
methods and the pytest fixture `mock_kafka`. The producer and the admin client (docs/client.md) work
with any Kafka cluster.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from client import (
        Address,
        Admin,
        ApiError,
        BufferFullError,
        ClientError,
        ClusterDescription,
        ConfigChange,
        ConfigEntry,
        ConfigOperation,
        ConfigResource,
        ConfigSource,
        ConfigSynonym,
        ConfigurationError,
        ConnectionLostError,
        Delivered,
        DeliveryRefusedError,
        DeliveryTimeoutError,
        NewPartitions,
        NewTopic,
        PartitionDescription,
        Phase,
        Producer,
        ProducerClosedError,
        ProducerSettings,
        QuotaChange,
        QuotaEntity,
        QuotaEntry,
        QuotaFilter,
        QuotaMatch,
        RecordTooLargeError,
        ResourceType,
        SaslSettings,
        Security,
        SecurityError,
        ThrottlingQuotaExceededError,
        TlsSettings,
        TopicDescription,
        UnreachableError,
        UnsupportedVersionError,
        open_admin,
        security_of,
    )
    from mock_kafka.audit import AuditError, AuditFinding, AuditReport, NotCovered
    from mock_kafka.broker_process import StartError
    from mock_kafka.cluster import MockKafka
    from mock_kafka.control import ControlError
    from mock_kafka.fault import Fault
    from mock_kafka.methods import DEFAULT, ConfigValue
    from mock_kafka.views import Metric, Partition, Record, Request, ShadowCount, ShadowEvent, Topic

__all__ = [
    "DEFAULT",
    "Address",
    "Admin",
    "ApiError",
    "AuditError",
    "AuditFinding",
    "AuditReport",
    "BufferFullError",
    "ClientError",
    "ClusterDescription",
    "ConfigChange",
    "ConfigEntry",
    "ConfigOperation",
    "ConfigResource",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigValue",
    "ConfigurationError",
    "ConnectionLostError",
    "ControlError",
    "Delivered",
    "DeliveryRefusedError",
    "DeliveryTimeoutError",
    "Fault",
    "Metric",
    "MockKafka",
    "NewPartitions",
    "NewTopic",
    "NotCovered",
    "Partition",
    "PartitionDescription",
    "Phase",
    "Producer",
    "ProducerClosedError",
    "ProducerSettings",
    "QuotaChange",
    "QuotaEntity",
    "QuotaEntry",
    "QuotaFilter",
    "QuotaMatch",
    "Record",
    "RecordTooLargeError",
    "Request",
    "ResourceType",
    "SaslSettings",
    "Security",
    "SecurityError",
    "ShadowCount",
    "ShadowEvent",
    "StartError",
    "ThrottlingQuotaExceededError",
    "TlsSettings",
    "Topic",
    "TopicDescription",
    "UnreachableError",
    "UnsupportedVersionError",
    "open_admin",
    "security_of",
]

_MODULES = {
    "DEFAULT": "methods",
    "ConfigValue": "methods",
    "AuditError": "audit",
    "AuditFinding": "audit",
    "AuditReport": "audit",
    "ControlError": "control",
    "Fault": "fault",
    "Metric": "views",
    "MockKafka": "cluster",
    "NotCovered": "audit",
    "Partition": "views",
    "Record": "views",
    "Request": "views",
    "ShadowCount": "views",
    "ShadowEvent": "views",
    "StartError": "broker_process",
    "Topic": "views",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is used: pytest imports this package in every project that has it."""
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    if name in __all__:
        import client  # noqa: PLC0415 - see the docstring

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
