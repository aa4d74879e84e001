"""A producer, an admin client and command line tools for any Kafka cluster.

Users import these names from `mock_kafka`. The producer is for asyncio, the admin client blocks.
Each module is imported when one of its names is used: the tools start faster without asyncio.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from client.admin import Admin as Admin
    from client.blocking_admin import open_admin as open_admin
    from client.errors import ApiError as ApiError
    from client.errors import ClientError as ClientError
    from client.errors import ConnectionLostError as ConnectionLostError
    from client.errors import SecurityError as SecurityError
    from client.errors import ThrottlingQuotaExceededError as ThrottlingQuotaExceededError
    from client.errors import UnreachableError as UnreachableError
    from client.errors import UnsupportedVersionError as UnsupportedVersionError
    from client.producer.batch import TopicPartition as TopicPartition
    from client.producer.delivery import BufferFullError as BufferFullError
    from client.producer.delivery import Delivered as Delivered
    from client.producer.delivery import DeliveryRefusedError as DeliveryRefusedError
    from client.producer.delivery import DeliveryTimeoutError as DeliveryTimeoutError
    from client.producer.delivery import Phase as Phase
    from client.producer.delivery import ProducerClosedError as ProducerClosedError
    from client.producer.delivery import RecordTooLargeError as RecordTooLargeError
    from client.producer.producer import Producer as Producer
    from client.producer.settings import ConfigurationError as ConfigurationError
    from client.producer.settings import ProducerSettings as ProducerSettings
    from client.producer.transaction_errors import FatalTransactionError as FatalTransactionError
    from client.producer.transaction_errors import ProducerFencedError as ProducerFencedError
    from client.producer.transaction_errors import (
        TransactionAbortableError as TransactionAbortableError,
    )
    from client.producer.transaction_errors import (
        TransactionAbortedError as TransactionAbortedError,
    )
    from client.producer.transaction_errors import TransactionStateError as TransactionStateError
    from client.producer.transaction_errors import (
        TransactionTimeoutError as TransactionTimeoutError,
    )
    from client.producer.transactional_offsets import ConsumerGroupMetadata as ConsumerGroupMetadata
    from client.producer.transactional_offsets import OffsetAndMetadata as OffsetAndMetadata
    from client.resources import AccessControlEntry as AccessControlEntry
    from client.resources import AclBinding as AclBinding
    from client.resources import AclResourceType as AclResourceType
    from client.resources import Address as Address
    from client.resources import ClusterDescription as ClusterDescription
    from client.resources import ConfigChange as ConfigChange
    from client.resources import ConfigEntry as ConfigEntry
    from client.resources import ConfigResource as ConfigResource
    from client.resources import ConfigSynonym as ConfigSynonym
    from client.resources import GroupDescription as GroupDescription
    from client.resources import GroupListing as GroupListing
    from client.resources import MemberDescription as MemberDescription
    from client.resources import NewPartitions as NewPartitions
    from client.resources import NewTopic as NewTopic
    from client.resources import PartitionDescription as PartitionDescription
    from client.resources import PartitionOffset as PartitionOffset
    from client.resources import QuotaChange as QuotaChange
    from client.resources import QuotaEntity as QuotaEntity
    from client.resources import QuotaEntry as QuotaEntry
    from client.resources import QuotaFilter as QuotaFilter
    from client.resources import ResourcePattern as ResourcePattern
    from client.resources import ScramUpsertion as ScramUpsertion
    from client.resources import StreamsTasks as StreamsTasks
    from client.resources import Subtopology as Subtopology
    from client.resources import TopicDescription as TopicDescription
    from client.security import SaslSettings as SaslSettings
    from client.security import Security as Security
    from client.security import TlsSettings as TlsSettings
    from client.security import security_of as security_of
    from client.topology import DescribedSubtopology as DescribedSubtopology
    from client.topology import GlobalStore as GlobalStore
    from client.topology import TopologyDescription as TopologyDescription
    from client.topology import TopologyNode as TopologyNode
    from client.topology import TopologyNodeType as TopologyNodeType
    from client.topology import TopologyStatus as TopologyStatus
    from protocol.acls import AclOperation as AclOperation
    from protocol.acls import PatternType as PatternType
    from protocol.acls import PermissionType as PermissionType
    from protocol.client_quotas import QuotaMatch as QuotaMatch
    from protocol.configs import ConfigOperation as ConfigOperation
    from protocol.configs import ConfigSource as ConfigSource
    from protocol.configs import ResourceType as ResourceType

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
    "producer.batch": ("TopicPartition",),
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
    "producer.transaction_errors": (
        "FatalTransactionError",
        "ProducerFencedError",
        "TransactionAbortableError",
        "TransactionAbortedError",
        "TransactionStateError",
        "TransactionTimeoutError",
    ),
    "producer.transactional_offsets": ("ConsumerGroupMetadata", "OffsetAndMetadata"),
    "resources": (
        "AccessControlEntry",
        "AclBinding",
        "AclOperation",
        "AclResourceType",
        "Address",
        "ClusterDescription",
        "ConfigChange",
        "ConfigEntry",
        "ConfigOperation",
        "ConfigResource",
        "ConfigSource",
        "ConfigSynonym",
        "GroupDescription",
        "GroupListing",
        "MemberDescription",
        "NewPartitions",
        "NewTopic",
        "PartitionDescription",
        "PartitionOffset",
        "PatternType",
        "PermissionType",
        "QuotaChange",
        "QuotaEntity",
        "QuotaEntry",
        "QuotaFilter",
        "QuotaMatch",
        "ResourcePattern",
        "ResourceType",
        "ScramUpsertion",
        "StreamsTasks",
        "Subtopology",
        "TopicDescription",
    ),
    "security": ("SaslSettings", "Security", "TlsSettings", "security_of"),
    "topology": (
        "DescribedSubtopology",
        "GlobalStore",
        "TopologyDescription",
        "TopologyNode",
        "TopologyNodeType",
        "TopologyStatus",
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

PUBLIC_NAMES = sorted(_MODULES)

if not TYPE_CHECKING:  # `__getattr__` would allow any name
    # With a computed list a type checker would take no name from `from client import *`.
    __all__ = PUBLIC_NAMES  # noqa: PLE0605

    def __getattr__(name: str) -> object:
        module = _MODULES.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)
