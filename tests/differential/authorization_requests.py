"""Requests of each API that name the resources which rules are about.

They name the topics `~a` and `~b`, the group `~g` and the transactional id `~x`, which the
preparations of an API make.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tests.differential.conversation import Send, Step, Wait
from tests.differential.preparations import (
    DEFAULT_PREPARATIONS,
    PREPARATIONS,
    Preparation,
    Versions,
)
from tests.differential.streams_values import STREAMS_MEMBER
from tests.differential.values import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    CONSUMER_MEMBER,
    GROUP,
    SHARE_MEMBER,
    SUBSCRIPTION,
    TOPIC,
    TRANSACTIONAL_ID,
)

Request = tuple[int, Mapping[str, Any]]
"""The highest version that has these fields, and the fields."""
LATEST = 99
"""Stands for the latest version that is served."""
_NAMES = ("~a", "~b")
_IDS = ("topic_id#0", "topic_id#1")
_PRODUCER = {"producer_id": "producer_id#0", "producer_epoch": 0}
_TRANSACTION = {"transactional_id": TRANSACTIONAL_ID, **_PRODUCER}
_SHARE_STATE_MS = 300
_SUPER = "r"
"""The connection of a super user who authenticates."""


def _each(names: Sequence[str], key: str, **fields: Any) -> list[dict[str, Any]]:
    return [{key: name, **fields} for name in names]


def _producing(names: Sequence[str], key: str, **batch: Any) -> dict[str, Any]:
    records = {"batches": [{"records": [["k", "v"]], **batch}]}
    data = [{"index": 0, "records": records}]
    return {
        "acks": -1,
        "timeout_ms": 5000,
        "topic_data": _each(names, key, partition_data=data),
    }


def _fetching(names: Sequence[str], key: str) -> dict[str, Any]:
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000_000}
    return {"max_bytes": 1_000_000, "topics": _each(names, key, partitions=[partition])}


def _commit(names: Sequence[str], key: str) -> list[dict[str, Any]]:
    return _each(names, key, partitions=[{"partition_index": 0, "committed_offset": 1}])


def _config_resources(**fields: Any) -> list[dict[str, Any]]:
    """Return one resource of each type that has configurations."""
    resources = (
        (TOPIC, "~a", "retention.ms", "1000000"),
        (TOPIC, "~b", "retention.ms", "1000000"),
        (TOPIC, "~missing", "retention.ms", "1000000"),
        (GROUP, "~g", "consumer.session.timeout.ms", "50000"),
        (CLIENT_METRICS, "~m", "interval.ms", "1000"),
        (BROKER, "9", "log.cleaner.threads", "x"),
        (BROKER_LOGGER, "9", "kafka", "INFO"),
        (0, "~a", "retention.ms", "1"),
    )
    return [
        {
            "resource_type": resource_type,
            "resource_name": name,
            "configs": [{"name": key, "value": value, **fields}],
        }
        for resource_type, name, key, value in resources
    ]


_ACL_FILTER = {
    "resource_type_filter": TOPIC,
    "resource_name_filter": "~a",
    "principal_filter": "User:~somebody",
    "host_filter": "*",
    "operation": 3,
    "permission_type": 3,
}
_ACL = {
    "resource_type": TOPIC,
    "resource_name": "~a",
    "principal": "User:~somebody",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
_TOPIC_PARTITIONS = _each(_NAMES, "topic", partitions=[0])
_SHARE_PARTITIONS = _each(_IDS, "topic_id", partitions=[{"partition_index": 0}])
_STATE = {"group_id": "~g"}
_INTERNAL_TOPICS = {
    "epoch": 0,
    "subtopologies": [
        {
            "subtopology_id": "0",
            "source_topics": ["~a"],
            "state_changelog_topics": [{"name": "~changelog", "replication_factor": 1}],
        }
    ],
}
_NEW_STREAMS_MEMBER = {
    "group_id": "~g",
    "member_id": STREAMS_MEMBER,
    "rebalance_timeout_ms": 45_000,
    "active_tasks": [],
    "standby_tasks": [],
    "warmup_tasks": [],
    "process_id": "p",
}
_GROUP_MEMBER = {"group_id": "~g", "generation_id": 1, "member_id": "member_id#0"}
_OLD_TRANSACTION = {
    "v3_and_below_transactional_id": TRANSACTIONAL_ID,
    "v3_and_below_producer_id": "producer_id#0",
    "v3_and_below_producer_epoch": 0,
    "v3_and_below_topics": _each(_NAMES, "name", partitions=[0]),
}
_TOPIC_TRANSACTION = {**_TRANSACTION, "topics": _each(_NAMES, "name", partitions=[0])}


def _state_partitions(**fields: Any) -> list[dict[str, Any]]:
    return _each(_IDS, "topic_id", partitions=[{"partition": 0, **fields}])


REQUESTS: Mapping[str, Sequence[Request]] = {
    "Produce": (
        (12, _producing(_NAMES, "name")),
        (LATEST, _producing(_IDS, "topic_id")),
        (
            12,
            {
                "transactional_id": TRANSACTIONAL_ID,
                **_producing(_NAMES, "name", **_PRODUCER, base_sequence=0, is_transactional=True),
            },
        ),
        (12, _producing(["~a"], "name", **_PRODUCER, base_sequence=0)),
    ),
    "Fetch": (
        (12, _fetching(_NAMES, "topic")),
        (LATEST, _fetching(_IDS, "topic_id")),
        (12, {**_fetching(_NAMES, "topic"), "session_epoch": 0}),
        (12, {**_fetching(_NAMES, "topic"), "replica_id": 2}),
    ),
    "ListOffsets": (
        (
            LATEST,
            {"topics": _each(_NAMES, "name", partitions=[{"partition_index": 0, "timestamp": -1}])},
        ),
    ),
    "Metadata": (
        (
            9,
            {"topics": _each(("~a", "~b", "~missing"), "name"), "allow_auto_topic_creation": False},
        ),
        (
            9,
            {
                "topics": _each(_NAMES, "name"),
                "include_cluster_authorized_operations": True,
                "include_topic_authorized_operations": True,
                "allow_auto_topic_creation": False,
            },
        ),
        (LATEST, {"topics": _each(_IDS, "topic_id"), "allow_auto_topic_creation": False}),
        (4, {"topics": None, "allow_auto_topic_creation": False}),
        (
            LATEST,
            {"topics": _each(("~a", "~new"), "name"), "include_topic_authorized_operations": True},
        ),
        (1, {"topics": _each(("~newer",), "name")}),
    ),
    "OffsetCommit": (
        (9, {"group_id": "~g", "topics": _commit(_NAMES, "name")}),
        (LATEST, {"group_id": "~g", "topics": _commit(_IDS, "topic_id")}),
        (2, {"group_id": "~g", "topics": _commit(_NAMES, "name")}),
    ),
    "OffsetFetch": (
        (5, {"group_id": "~g", "topics": _each(_NAMES, "name", partition_indexes=[0])}),
        (5, {"group_id": "~g", "topics": None}),
        (
            9,
            {
                "groups": [
                    {"group_id": "~g", "topics": _each(_NAMES, "name", partition_indexes=[0])},
                    {"group_id": "~h", "topics": None},
                ]
            },
        ),
        (
            LATEST,
            {
                "groups": [
                    {"group_id": "~g", "topics": _each(_IDS, "topic_id", partition_indexes=[0])},
                    {"group_id": "~h", "topics": None},
                ]
            },
        ),
        (1, {"group_id": "~g", "topics": _each(_NAMES, "name", partition_indexes=[0])}),
    ),
    "FindCoordinator": (
        (3, {"key": "~g", "key_type": 0}),
        (3, {"key": TRANSACTIONAL_ID, "key_type": 1}),
        (LATEST, {"key_type": 0, "coordinator_keys": ["~g", "~h"]}),
        (LATEST, {"key_type": 1, "coordinator_keys": [TRANSACTIONAL_ID]}),
        (LATEST, {"key_type": 2, "coordinator_keys": ["~g:AAAAAAAAAAAAAAAAAAAAAQ:0"]}),
        (0, {"key": "~g"}),
    ),
    "JoinGroup": tuple(
        (
            version,
            {
                "group_id": "~g",
                "session_timeout_ms": 10_000,
                "rebalance_timeout_ms": 1000,
                "protocol_type": "consumer",
                "protocols": [{"name": "range", "metadata": SUBSCRIPTION}],
            },
        )
        for version in (4, LATEST)
    ),
    "Heartbeat": ((LATEST, _GROUP_MEMBER), (1, _GROUP_MEMBER)),
    "LeaveGroup": (
        (LATEST, {"group_id": "~g", "members": [{"member_id": "member_id#0"}]}),
        (1, {"group_id": "~g", "member_id": "member_id#0"}),
    ),
    "SyncGroup": (
        (
            3,
            {**_GROUP_MEMBER, "assignments": [{"member_id": "member_id#0", "assignment": "x"}]},
        ),
        (
            LATEST,
            {**_GROUP_MEMBER, "protocol_type": "consumer", "protocol_name": "range"},
        ),
    ),
    "DescribeGroups": (
        (LATEST, {"groups": ["~g", "~h"], "include_authorized_operations": True}),
        (1, {"groups": ["~g", "~h"]}),
    ),
    "ListGroups": ((LATEST, {}), (0, {})),
    "CreateTopics": (
        (
            LATEST,
            {
                "topics": [
                    {
                        "name": name,
                        "num_partitions": 1,
                        "replication_factor": 1,
                        "configs": [{"name": "retention.ms", "value": "7777777"}],
                    }
                    for name in ("~new", "~a")
                ],
            },
        ),
        (
            5,
            {
                "topics": _each(("~new",), "name", num_partitions=1, replication_factor=1),
                "validate_only": True,
            },
        ),
        (2, {"topics": _each(("~new",), "name", num_partitions=1, replication_factor=1)}),
    ),
    "DeleteTopics": (
        (LATEST, {"topics": _each((*_IDS, "topic_id#9"), "topic_id"), "timeout_ms": 30_000}),
        (LATEST, {"topics": _each((*_NAMES, "~missing"), "name"), "timeout_ms": 30_000}),
        (5, {"topic_names": [*_NAMES, "~missing"], "timeout_ms": 30_000}),
    ),
    "DeleteRecords": (
        (
            LATEST,
            {
                "topics": _each(_NAMES, "name", partitions=[{"partition_index": 0, "offset": 1}]),
                "timeout_ms": 30_000,
            },
        ),
    ),
    "InitProducerId": (
        (2, {"transactional_id": None, "transaction_timeout_ms": 60_000}),
        (5, {"transactional_id": None, "transaction_timeout_ms": 60_000}),
        (2, {"transactional_id": "~y", "transaction_timeout_ms": 60_000}),
        (5, {"transactional_id": TRANSACTIONAL_ID, "transaction_timeout_ms": 60_000}),
        (
            6,
            {
                "transactional_id": "~y",
                "transaction_timeout_ms": 60_000,
                "enable2_pc": True,
            },
        ),
    ),
    "OffsetForLeaderEpoch": tuple(
        (
            LATEST,
            {
                "replica_id": replica_id,
                "topics": _each(
                    (*_NAMES, "~missing"), "topic", partitions=[{"partition": 0, "leader_epoch": 0}]
                ),
            },
        )
        for replica_id in (-2, -1)
    ),
    "AddPartitionsToTxn": (
        (3, _OLD_TRANSACTION),
        (LATEST, {"transactions": [_TOPIC_TRANSACTION]}),
        (LATEST, {"transactions": [{**_TOPIC_TRANSACTION, "verify_only": True}]}),
    ),
    "AddOffsetsToTxn": (
        (LATEST, {**_TRANSACTION, "group_id": "~g"}),
        (0, {**_TRANSACTION, "group_id": "~g"}),
    ),
    "EndTxn": ((4, {**_TRANSACTION, "committed": True}), (0, {**_TRANSACTION, "committed": True})),
    "WriteTxnMarkers": (
        (
            LATEST,
            {
                "markers": [
                    {
                        **_PRODUCER,
                        "transaction_result": True,
                        "topics": _each(_NAMES, "name", partition_indexes=[0]),
                    }
                ]
            },
        ),
    ),
    "TxnOffsetCommit": (
        (4, {**_TRANSACTION, "group_id": "~g", "topics": _commit(_NAMES, "name")}),
        (LATEST, {**_TRANSACTION, "group_id": "~g", "topics": _commit(_IDS, "topic_id")}),
        (0, {**_TRANSACTION, "group_id": "~g", "topics": _commit(_NAMES, "name")}),
    ),
    "DescribeAcls": ((LATEST, _ACL_FILTER),),
    "CreateAcls": ((LATEST, {"creations": [_ACL]}),),
    "DeleteAcls": ((LATEST, {"filters": [_ACL_FILTER]}),),
    "DescribeConfigs": (
        (
            LATEST,
            {
                "resources": [
                    {
                        "resource_type": resource["resource_type"],
                        "resource_name": resource["resource_name"],
                        "configuration_keys": ["retention.ms", "interval.ms"],
                    }
                    for resource in _config_resources()
                    if resource["resource_type"]
                ]
            },
        ),
    ),
    "AlterConfigs": (
        (LATEST, {"resources": _config_resources()[:-1]}),
        (LATEST, {"resources": _config_resources(), "validate_only": True}),
    ),
    "IncrementalAlterConfigs": (
        (LATEST, {"resources": _config_resources(config_operation=0)[:-1]}),
        (LATEST, {"resources": _config_resources(config_operation=0), "validate_only": True}),
    ),
    "AlterReplicaLogDirs": (
        (
            LATEST,
            {"dirs": [{"path": "/nowhere", "topics": _each(_NAMES, "name", partitions=[0])}]},
        ),
    ),
    "DescribeLogDirs": (
        (LATEST, {"topics": _each(_NAMES, "topic", partitions=[0])}),
        (1, {"topics": []}),
    ),
    "CreatePartitions": (
        (
            LATEST,
            {
                "topics": _each((*_NAMES, "~missing"), "name", count=3, assignments=None),
                "timeout_ms": 30_000,
            },
        ),
    ),
    "CreateDelegationToken": (
        (2, {"max_lifetime_ms": 300_000}),
        (
            LATEST,
            {
                "owner_principal_type": "User",
                "owner_principal_name": "~v",
                "max_lifetime_ms": 300_000,
            },
        ),
        (
            LATEST,
            {
                "owner_principal_type": "User",
                "owner_principal_name": "~owner",
                "max_lifetime_ms": 300_000,
            },
        ),
    ),
    "DescribeDelegationToken": (
        (LATEST, {"owners": None}),
        (LATEST, {"owners": [{"principal_type": "User", "principal_name": "~owner"}]}),
        (
            LATEST,
            {
                "owners": [
                    {"principal_type": "User", "principal_name": name} for name in ("~owner", "~v")
                ]
            },
        ),
    ),
    "DeleteGroups": ((LATEST, {"groups_names": ["~g", "~h"]}),),
    "ElectLeaders": (
        (LATEST, {"topic_partitions": _TOPIC_PARTITIONS}),
        (0, {"topic_partitions": _TOPIC_PARTITIONS}),
    ),
    "AlterPartitionReassignments": (
        (
            LATEST,
            {"topics": _each(_NAMES, "name", partitions=[{"partition_index": 0, "replicas": [1]}])},
        ),
    ),
    "ListPartitionReassignments": (
        (LATEST, {"topics": _each(_NAMES, "name", partition_indexes=[0])}),
    ),
    "OffsetDelete": (
        (
            LATEST,
            {
                "group_id": "~g",
                "topics": _each(_NAMES, "name", partitions=[{"partition_index": 0}]),
            },
        ),
    ),
    "DescribeClientQuotas": ((LATEST, {"components": [{"entity_type": "user", "match": "~u"}]}),),
    "AlterClientQuotas": (
        (
            LATEST,
            {
                "entries": [
                    {
                        "entity": [{"entity_type": "user", "entity_name": name}],
                        "ops": [{"key": "producer_byte_rate", "value": 7.0}],
                    }
                    for name in ("~u", "~v")
                ]
            },
        ),
    ),
    "DescribeUserScramCredentials": ((LATEST, {"users": _each(("~u", "~v"), "name")}),),
    "AlterUserScramCredentials": (
        (
            LATEST,
            {
                "deletions": [{"name": "~v", "mechanism": 1}],
                "upsertions": [
                    {
                        "name": "~u",
                        "mechanism": 1,
                        "iterations": 4096,
                        "salt": "salt",
                        "salted_password": {"hex": "0b" * 32},
                    }
                ],
            },
        ),
    ),
    "DescribeQuorum": (
        (
            LATEST,
            {
                "topics": [
                    {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
                ]
            },
        ),
    ),
    "UpdateFeatures": (
        (
            LATEST,
            {
                "feature_updates": [{"feature": "no.such.feature", "max_version_level": 1}],
                "validate_only": True,
            },
        ),
        (0, {"feature_updates": [{"feature": "no.such.feature", "max_version_level": 1}]}),
    ),
    "DescribeCluster": (
        (LATEST, {"include_cluster_authorized_operations": True}),
        (0, {}),
    ),
    "DescribeProducers": (
        (LATEST, {"topics": _each((*_NAMES, "~missing"), "name", partition_indexes=[0])}),
    ),
    "UnregisterBroker": ((LATEST, {"broker_id": 9}),),
    "UnregisterController": ((LATEST, {"controller_id": 9}),),
    "DescribeTransactions": ((LATEST, {"transactional_ids": [TRANSACTIONAL_ID, "~y"]}),),
    "ListTransactions": ((LATEST, {}),),
    "ConsumerGroupHeartbeat": (
        (
            LATEST,
            {
                "group_id": "~g",
                "member_id": CONSUMER_MEMBER,
                "rebalance_timeout_ms": 45_000,
                "subscribed_topic_names": list(_NAMES),
                "topic_partitions": [],
            },
        ),
        (
            LATEST,
            {
                "group_id": "~g",
                "member_id": CONSUMER_MEMBER,
                "rebalance_timeout_ms": 45_000,
                "subscribed_topic_regex": "~.*",
                "topic_partitions": [],
            },
        ),
        (0, {"group_id": "~g", "member_id": CONSUMER_MEMBER, "member_epoch": 1}),
    ),
    "ConsumerGroupDescribe": (
        (LATEST, {"group_ids": ["~g", "~h"], "include_authorized_operations": True}),
        (0, {"group_ids": ["~g", "~h"]}),
    ),
    "GetTelemetrySubscriptions": ((LATEST, {}),),
    "PushTelemetry": ((LATEST, {}),),
    "ListConfigResources": ((LATEST, {"resource_types": [GROUP]}), (0, {})),
    "DescribeTopicPartitions": (
        (LATEST, {"topics": _each((*_NAMES, "~missing"), "name")}),
        (
            LATEST,
            {
                "topics": _each((*_NAMES, "~missing"), "name"),
                "cursor": {"topic_name": "~b", "partition_index": 0},
            },
        ),
    ),
    "ShareGroupHeartbeat": (
        (
            LATEST,
            {
                "group_id": "~g",
                "member_id": SHARE_MEMBER,
                "subscribed_topic_names": list(_NAMES),
            },
        ),
        (LATEST, {"group_id": "~g", "member_id": SHARE_MEMBER, "member_epoch": 2}),
    ),
    "ShareGroupDescribe": (
        (LATEST, {"group_ids": ["~g", "~h"], "include_authorized_operations": True}),
    ),
    "ShareFetch": (
        (
            LATEST,
            {
                "group_id": "~g",
                "member_id": SHARE_MEMBER,
                "max_records": 1,
                "batch_size": 1,
                "topics": _SHARE_PARTITIONS,
            },
        ),
    ),
    "ShareAcknowledge": (
        (
            LATEST,
            {
                "group_id": "~g",
                "member_id": SHARE_MEMBER,
                "share_session_epoch": 1,
                "topics": _each(
                    _IDS,
                    "topic_id",
                    partitions=[
                        {
                            "partition_index": 0,
                            "acknowledgement_batches": [
                                {"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}
                            ],
                        }
                    ],
                ),
            },
        ),
    ),
    "AddRaftVoter": (
        (
            LATEST,
            {
                "voter_id": 9,
                "voter_directory_id": "topic_id#9",
                "listeners": [{"name": "CONTROLLER", "host": "127.0.0.1", "port": 9}],
                "timeout_ms": 1000,
            },
        ),
    ),
    "RemoveRaftVoter": ((LATEST, {"voter_id": 9, "voter_directory_id": "topic_id#9"}),),
    "InitializeShareGroupState": (
        (LATEST, {**_STATE, "topics": _state_partitions(state_epoch=1)}),
    ),
    "ReadShareGroupState": ((LATEST, {**_STATE, "topics": _state_partitions(leader_epoch=1)}),),
    "WriteShareGroupState": (
        (LATEST, {**_STATE, "topics": _state_partitions(state_epoch=1, leader_epoch=1)}),
    ),
    "DeleteShareGroupState": ((LATEST, {**_STATE, "topics": _state_partitions()}),),
    "ReadShareGroupStateSummary": (
        (LATEST, {**_STATE, "topics": _state_partitions(leader_epoch=1)}),
    ),
    "StreamsGroupHeartbeat": (
        (LATEST, {**_NEW_STREAMS_MEMBER, "topology": _INTERNAL_TOPICS}),
        (0, {"group_id": "~g", "member_id": STREAMS_MEMBER, "member_epoch": 1}),
    ),
    "StreamsGroupDescribe": (
        (LATEST, {"group_ids": ["~g", "~h"], "include_authorized_operations": True}),
        (0, {"group_ids": ["~g"]}),
    ),
    "DescribeShareGroupOffsets": (
        (
            LATEST,
            {
                "groups": [
                    {"group_id": "~g", "topics": _each(_NAMES, "topic_name", partitions=[0])},
                    {"group_id": "~h", "topics": None},
                ]
            },
        ),
        (LATEST, {"groups": [{"group_id": "~g", "topics": None}]}),
    ),
    "AlterShareGroupOffsets": (
        (
            LATEST,
            {
                "group_id": "~g",
                "topics": _each(
                    (*_NAMES, "~missing"),
                    "topic_name",
                    partitions=[{"partition_index": 0, "start_offset": 0}],
                ),
            },
        ),
    ),
    "DeleteShareGroupOffsets": (
        (LATEST, {"group_id": "~g", "topics": _each((*_NAMES, "~missing"), "topic_name")}),
    ),
    "StreamsGroupTopologyDescriptionUpdate": (
        (
            LATEST,
            {
                "group_id": "~g",
                "member_id": STREAMS_MEMBER,
                "topology_epoch": 0,
                "topology_description": {"subtopologies": [], "global_stores": []},
            },
        ),
    ),
}
"""By API; a client of several versions has requests for each form of the answer."""

DESTRUCTIVE = frozenset({"DeleteGroups", "DeleteTopics", "OffsetDelete"})
"""APIs whose requests remove what the next one of them is about."""


def _token(_versions: Versions) -> list[Step]:
    """Create a delegation token of `~owner`."""
    owner = {"owner_principal_type": "User", "owner_principal_name": "~owner"}
    return [Send("CreateDelegationToken", 3, {**owner, "max_lifetime_ms": 300_000}, _SUPER)]


def _share_member(_versions: Versions) -> list[Step]:
    """Join a share group, and again when the state of its partitions is there."""
    member = {"group_id": "~g", "member_id": SHARE_MEMBER}
    joined = Send("ShareGroupHeartbeat", 1, {**member, "subscribed_topic_names": list(_NAMES)})
    return [joined, Wait(_SHARE_STATE_MS)] * 3


def _share_session(versions: Versions) -> list[Step]:
    """Read one topic after the other, so that the share partitions of both are there."""
    config, fetch = _one_share_session(versions)
    assert isinstance(fetch, Send)
    arguments = {**fetch.arguments, "topics": _SHARE_PARTITIONS[1:]}
    return [config, fetch, msgspec.structs.replace(fetch, arguments=arguments)]


def _left_share_group(_versions: Versions) -> list[Step]:
    """Leave the group, whose offsets change only while it is empty."""
    left = {"group_id": "~g", "member_id": SHARE_MEMBER, "member_epoch": -1}
    return [Send("ShareGroupHeartbeat", 1, left)]


_topic_ids, _records, _, _one_share_session = PREPARATIONS["ShareFetch"]
_PREPARATIONS: Mapping[str, Sequence[Preparation]] = {
    "DescribeDelegationToken": (_token,),
    "CreateDelegationToken": (),
    "Produce": (PREPARATIONS["OffsetCommit"][0], *PREPARATIONS["AddPartitionsToTxn"][1:]),
    "Fetch": PREPARATIONS["Fetch"][:2],
    "OffsetDelete": PREPARATIONS["OffsetDelete"][:2],
    "OffsetCommit": PREPARATIONS["OffsetCommit"][:1],
    "TxnOffsetCommit": (PREPARATIONS["OffsetCommit"][0], *PREPARATIONS["TxnOffsetCommit"][1:]),
    "Metadata": DEFAULT_PREPARATIONS[:1],
    "JoinGroup": (),
    "Heartbeat": PREPARATIONS["Heartbeat"][1:],
    "InitProducerId": PREPARATIONS["AddPartitionsToTxn"],
    "DescribeProducers": PREPARATIONS["AddPartitionsToTxn"],
    "DeleteGroups": PREPARATIONS["DeleteGroups"][:2],
    "FindCoordinator": (),
    "ConsumerGroupDescribe": PREPARATIONS["ConsumerGroupDescribe"][:2],
    "StreamsGroupHeartbeat": PREPARATIONS["StreamsGroupHeartbeat"][:1],
    "ShareGroupDescribe": (_topic_ids, _share_member),
    "ShareGroupHeartbeat": (_topic_ids, _share_member),
    "ShareFetch": (_topic_ids, _records, _share_member, _share_session),
    "ShareAcknowledge": (_topic_ids, _records, _share_member, _share_session),
    "DescribeShareGroupOffsets": (_topic_ids, _records, _share_member),
    "AlterShareGroupOffsets": (_topic_ids, _share_member, _left_share_group),
    "DeleteShareGroupOffsets": (_topic_ids, _share_member, _left_share_group),
}


def preparations_of(api: str) -> Sequence[Preparation]:
    """Return what makes the resources that the requests of an API are about."""
    return _PREPARATIONS.get(api, PREPARATIONS.get(api, DEFAULT_PREPARATIONS))
