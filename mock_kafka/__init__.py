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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from client import *  # noqa: F403
    from mock_kafka.acl_views import Acl as Acl
    from mock_kafka.acl_views import AclDecision as AclDecision
    from mock_kafka.acl_views import Denial as Denial
    from mock_kafka.audit import AuditError as AuditError
    from mock_kafka.audit import AuditFinding as AuditFinding
    from mock_kafka.audit import AuditReport as AuditReport
    from mock_kafka.audit import NotCovered as NotCovered
    from mock_kafka.broker_process import StartError as StartError
    from mock_kafka.cluster import MockKafka as MockKafka
    from mock_kafka.config_value import ConfigValue as ConfigValue
    from mock_kafka.control import ControlError as ControlError
    from mock_kafka.exploration.decorator import ExplorationError as ExplorationError
    from mock_kafka.exploration.decorator import explore as explore
    from mock_kafka.fault import Fault as Fault
    from mock_kafka.fault import Hold as Hold
    from mock_kafka.group_views import Group as Group
    from mock_kafka.group_views import GroupMember as GroupMember
    from mock_kafka.group_views import GroupOffset as GroupOffset
    from mock_kafka.group_views import InFlightRecords as InFlightRecords
    from mock_kafka.group_views import SharePartition as SharePartition
    from mock_kafka.group_views import ShareSession as ShareSession
    from mock_kafka.proxy import KafkaProxy as KafkaProxy
    from mock_kafka.quota_methods import DEFAULT as DEFAULT
    from mock_kafka.simulated_world import SimulatedWorld as SimulatedWorld
    from mock_kafka.simulated_world import SimulationResult as SimulationResult
    from mock_kafka.simulated_world import simulate as simulate
    from mock_kafka.simulated_world import simulated as simulated
    from mock_kafka.views import CompactedPartition as CompactedPartition
    from mock_kafka.views import Metric as Metric
    from mock_kafka.views import Partition as Partition
    from mock_kafka.views import Record as Record
    from mock_kafka.views import Request as Request
    from mock_kafka.views import ShadowCount as ShadowCount
    from mock_kafka.views import ShadowEvent as ShadowEvent
    from mock_kafka.views import Topic as Topic
    from mock_kafka.views import Transaction as Transaction
    from simulation.network_conditions import NetworkConditions as NetworkConditions

_MODULES = {
    "DEFAULT": "quota_methods",
    "ConfigValue": "config_value",
    "Acl": "acl_views",
    "AclDecision": "acl_views",
    "AuditError": "audit",
    "AuditFinding": "audit",
    "AuditReport": "audit",
    "CompactedPartition": "views",
    "ControlError": "control",
    "Denial": "acl_views",
    "ExplorationError": "exploration.decorator",
    "Fault": "fault",
    "Hold": "fault",
    "Group": "group_views",
    "GroupMember": "group_views",
    "GroupOffset": "group_views",
    "InFlightRecords": "group_views",
    "KafkaProxy": "proxy",
    "Metric": "views",
    "MockKafka": "cluster",
    "NetworkConditions": "simulated_world",
    "NotCovered": "audit",
    "Partition": "views",
    "Record": "views",
    "Request": "views",
    "ShadowCount": "views",
    "ShadowEvent": "views",
    "SharePartition": "group_views",
    "ShareSession": "group_views",
    "SimulatedWorld": "simulated_world",
    "SimulationResult": "simulated_world",
    "StartError": "broker_process",
    "Topic": "views",
    "Transaction": "views",
    "explore": "exploration.decorator",
    "simulate": "simulated_world",
    "simulated": "simulated_world",
}

if not TYPE_CHECKING:  # it would allow any name

    def __getattr__(name: str) -> object:
        """Import a name when it is used: pytest imports this package in every project that has it.

        Every public name of the client is public here; `__all__` has them all.
        """
        if name in _MODULES:
            return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        if name == "__all__" or not name.startswith("_"):
            import client  # noqa: PLC0415 - see the docstring

            if name == "__all__":
                return sorted([*_MODULES, *client.PUBLIC_NAMES])
            if name in client.PUBLIC_NAMES:
                from mock_kafka.quiet_imports import quiet_imports  # noqa: PLC0415

                with quiet_imports():
                    return getattr(client, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
