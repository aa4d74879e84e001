"""Kafka's client side: a producer, an admin client, command line tools. Knows `protocol/` alone.

Users import these names from `mock_kafka`. The producer is for asyncio, the admin client blocks.
Each module is imported when one of its names is used: the tools start faster without asyncio.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from client.admin import Admin
    from client.blocking_admin import open_admin
    from client.errors import (
        ApiError,
        ClientError,
        ConnectionLostError,
        SecurityError,
        ThrottlingQuotaExceededError,
        UnreachableError,
        UnsupportedVersionError,
    )
    from client.producer.delivery import (
        BufferFullError,
        Delivered,
        DeliveryRefusedError,
        DeliveryTimeoutError,
        Phase,
        ProducerClosedError,
        RecordTooLargeError,
    )
    from client.producer.producer import Producer
    from client.producer.settings import ConfigurationError, ProducerSettings
    from client.resources import (
        Address,
        ClusterDescription,
        ConfigChange,
        ConfigEntry,
        ConfigResource,
        ConfigSynonym,
        NewPartitions,
        NewTopic,
        PartitionDescription,
        QuotaChange,
        QuotaEntity,
        QuotaEntry,
        QuotaFilter,
        TopicDescription,
    )
    from client.security import SaslSettings, Security, TlsSettings, security_of
    from protocol.client_quotas import QuotaMatch
    from protocol.configs import ConfigOperation, ConfigSource, ResourceType

__all__ = [
    "Address",
    "Admin",
    "ApiError",
    "BufferFullError",
    "ClientError",
    "ClusterDescription",
    "ConfigChange",
    "ConfigEntry",
    "ConfigOperation",
    "ConfigResource",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigurationError",
    "ConnectionLostError",
    "Delivered",
    "DeliveryRefusedError",
    "DeliveryTimeoutError",
    "NewPartitions",
    "NewTopic",
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
    "RecordTooLargeError",
    "ResourceType",
    "SaslSettings",
    "Security",
    "SecurityError",
    "ThrottlingQuotaExceededError",
    "TlsSettings",
    "TopicDescription",
    "UnreachableError",
    "UnsupportedVersionError",
    "open_admin",
    "security_of",
]

_NAMES = {
    "admin": ("Admin",),
    "blocking_admin": ("open_admin",),
    "errors": (
        "ApiError",
        "ClientError",
        "ConnectionLostError",
        "SecurityError",
        "ThrottlingQuotaExceededError",
        "UnreachableError",
        "UnsupportedVersionError",
    ),
    "producer.delivery": (
        "BufferFullError",
        "Delivered",
        "DeliveryRefusedError",
        "DeliveryTimeoutError",
        "Phase",
        "ProducerClosedError",
        "RecordTooLargeError",
    ),
    "producer.producer": ("Producer",),
    "producer.settings": ("ConfigurationError", "ProducerSettings"),
    "resources": (
        "Address",
        "ClusterDescription",
        "ConfigChange",
        "ConfigEntry",
        "ConfigOperation",
        "ConfigResource",
        "ConfigSource",
        "ConfigSynonym",
        "NewPartitions",
        "NewTopic",
        "PartitionDescription",
        "QuotaChange",
        "QuotaEntity",
        "QuotaEntry",
        "QuotaFilter",
        "QuotaMatch",
        "ResourceType",
        "TopicDescription",
    ),
    "security": ("SaslSettings", "Security", "TlsSettings", "security_of"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
