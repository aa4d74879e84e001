"""What a conversation does before the requests that it is about, and what it reads afterwards."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.differential.conversation import Send, Step, Wait
from tests.differential.streams_values import STREAMS_MEMBER, TOPOLOGY
from tests.differential.values import (
    CONSUMER_MEMBER,
    SHARE_MEMBER,
    SUBSCRIPTION,
    TRANSACTIONAL_ID,
)

Versions = Mapping[str, tuple[int, int]]
"""The versions that both clusters serve, by API."""
_SHARE_STATE_MS = 300
"""After this time Kafka has created the state of new share partitions."""

TOPICS = (
    {"name": "~a", "num_partitions": 2, "replication_factor": 1},
    {"name": "~b", "num_partitions": 1, "replication_factor": 1},
)
REPLICATED_TOPICS = (
    {
        "name": "~a",
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": [
            {"partition_index": 0, "broker_ids": [1, 2, 3]},
            {"partition_index": 1, "broker_ids": [2, 3, 1]},
        ],
    },
    {
        "name": "~b",
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": [{"partition_index": 0, "broker_ids": [3, 1]}],
    },
)
"""The same for three brokers: Kafka places replicas at random if it may choose."""


def _topics(versions: Versions) -> list[Step]:
    return [
        send(
            versions,
            "CreateTopics",
            4,
            topics=TOPICS,
            timeout_ms=30_000,
        )
    ]


def _topic_ids(versions: Versions) -> list[Step]:
    return [
        *_topics(versions),
        send(versions, "Metadata", 12, topics=[{"name": "~a"}, {"name": "~b"}]),
    ]


def _records(versions: Versions) -> list[Step]:
    records = {"batches": [{"records": [["k", "1"], ["k", "2"], [None, "3"]]}]}
    return [_produce(versions, records)]


def _produce(versions: Versions, records: dict[str, Any]) -> Send:
    data = {"name": "~a", "partition_data": [{"index": 0, "records": records}]}
    return send(versions, "Produce", 9, acks=-1, timeout_ms=5000, topic_data=[data])


def _producer(versions: Versions) -> list[Step]:
    batch = {
        "records": [["k", "v"]],
        "producer_id": "producer_id#0",
        "producer_epoch": 0,
        "base_sequence": 0,
    }
    return [
        send(versions, "InitProducerId", 2, transaction_timeout_ms=60_000),
        _produce(versions, {"batches": [batch]}),
    ]


def _offsets(versions: Versions) -> list[Step]:
    partition = {"partition_index": 0, "committed_offset": 2, "committed_metadata": "m"}
    topics = [{"name": "~a", "partitions": [partition]}]
    return [send(versions, "OffsetCommit", 8, group_id="~g", topics=topics)]


def _member(versions: Versions) -> list[Step]:
    return [
        send(
            versions,
            "JoinGroup",
            3,
            group_id="~g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=1000,
            protocol_type="consumer",
            protocols=[{"name": "range", "metadata": SUBSCRIPTION}],
        )
    ]


def _assignment(versions: Versions) -> list[Step]:
    return [
        *_member(versions),
        send(
            versions,
            "SyncGroup",
            2,
            group_id="~g",
            generation_id=1,
            member_id="member_id#0",
            assignments=[{"member_id": "member_id#0", "assignment": "assignment"}],
        ),
    ]


def _fetch_session(versions: Versions) -> list[Step]:
    partitions = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000_000}]
    return [
        send(
            versions,
            "Fetch",
            11,
            session_epoch=0,
            max_bytes=1_000_000,
            topics=[{"topic": "~a", "partitions": partitions}],
        )
    ]


def _consumer_member(versions: Versions) -> list[Step]:
    joined = {
        "group_id": "~g",
        "member_id": CONSUMER_MEMBER,
        "rebalance_timeout_ms": 45_000,
        "subscribed_topic_names": ["~a"],
        "topic_partitions": [],
    }
    return [send(versions, "ConsumerGroupHeartbeat", 0, **joined)]


def _streams_member(versions: Versions) -> list[Step]:
    joined = {
        "group_id": "~g",
        "member_id": STREAMS_MEMBER,
        "rebalance_timeout_ms": 45_000,
        "topology": TOPOLOGY,
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": "p",
    }
    return [send(versions, "StreamsGroupHeartbeat", 0, **joined)]


def _share_member(versions: Versions) -> list[Step]:
    """Join, and come again when the state of the partitions is there, which are assigned then.

    The first member of a group has epoch 1, since Kafka 4.3 epoch 2; the other one is fenced.
    """
    member = {"group_id": "~g", "member_id": SHARE_MEMBER}
    return [
        send(versions, "ShareGroupHeartbeat", 1, **member, subscribed_topic_names=["~a"]),
        Wait(_SHARE_STATE_MS),
        *(
            send(versions, "ShareGroupHeartbeat", 1, **member, member_epoch=epoch)
            for epoch in (1, 2)
        ),
    ]


def _share_session(versions: Versions) -> list[Step]:
    """Set where the group begins, and acquire the first records."""
    config = {"name": "share.auto.offset.reset", "config_operation": 0, "value": "earliest"}
    resource = {"resource_type": 32, "resource_name": "~g", "configs": [config]}
    partition = {"partition_index": 0}
    return [
        send(versions, "IncrementalAlterConfigs", 0, resources=[resource]),
        send(
            versions,
            "ShareFetch",
            1,
            group_id="~g",
            member_id=SHARE_MEMBER,
            max_wait_ms=500,
            max_records=2,
            batch_size=2,
            topics=[{"topic_id": "topic_id#0", "partitions": [partition]}],
        ),
    ]


def _share_state(versions: Versions) -> list[Step]:
    partitions = [
        {"partition": index, "state_epoch": 1, "start_offset": index} for index in range(2)
    ]
    topics = [{"topic_id": "topic_id#0", "partitions": partitions}]
    return [send(versions, "InitializeShareGroupState", 0, group_id="~g", topics=topics)]


def _transactional_id(versions: Versions) -> list[Step]:
    return [
        send(
            versions,
            "InitProducerId",
            2,
            transactional_id=TRANSACTIONAL_ID,
            transaction_timeout_ms=60_000,
        )
    ]


def _transaction(versions: Versions) -> list[Step]:
    """Begin a transaction with two records."""
    batch = {
        "records": [["k", "v"], ["k", "w"]],
        "producer_id": "producer_id#0",
        "producer_epoch": 0,
        "base_sequence": 0,
        "is_transactional": True,
    }
    producing = _produce(versions, {"batches": [batch]})
    producing.arguments["transactional_id"] = TRANSACTIONAL_ID
    added = {
        "v3_and_below_transactional_id": TRANSACTIONAL_ID,
        "v3_and_below_producer_id": "producer_id#0",
        "v3_and_below_producer_epoch": 0,
        "v3_and_below_topics": [{"name": "~a", "partitions": [0]}],
    }
    return [
        *_transactional_id(versions),
        Send("AddPartitionsToTxn", 3, added),
        producing,
    ]


def _quotas(versions: Versions) -> list[Step]:
    entries = [
        {
            "entity": [{"entity_type": kind, "entity_name": name}],
            "ops": [{"key": key, "value": 1000.0}],
        }
        for kind, name, key in (
            ("user", "~u", "producer_byte_rate"),
            ("client-id", "~c", "consumer_byte_rate"),
        )
    ]
    return [send(versions, "AlterClientQuotas", 0, entries=entries)]


def _scram(versions: Versions) -> list[Step]:
    credential = {
        "name": "~u",
        "mechanism": 1,
        "iterations": 4096,
        "salt": "salt",
        "salted_password": {"hex": "0b" * 32},
    }
    return [send(versions, "AlterUserScramCredentials", 0, upsertions=[credential])]


def _topic_config(versions: Versions) -> list[Step]:
    config = {"name": "retention.ms", "config_operation": 0, "value": "100000000"}
    resource = {"resource_type": 2, "resource_name": "~a", "configs": [config]}
    return [send(versions, "IncrementalAlterConfigs", 0, resources=[resource])]


Preparation = Callable[[Versions], list[Step]]

PREPARATIONS: Mapping[str, Sequence[Preparation]] = {
    "AddOffsetsToTxn": (_topics, _offsets, _transaction),
    "AddPartitionsToTxn": (_topics, _transaction),
    "AlterClientQuotas": (_quotas,),
    "AlterConfigs": (_topics, _topic_config),
    "AlterShareGroupOffsets": (_topics, _share_member),
    "AlterUserScramCredentials": (_scram,),
    "ApiVersions": (),
    "ConsumerGroupDescribe": (_topics, _consumer_member, _offsets),
    "ConsumerGroupHeartbeat": (_topic_ids, _consumer_member),
    "CreateTopics": (_topics,),
    "DeleteGroups": (_topics, _offsets, _assignment),
    "DeleteRecords": (_topics, _records),
    "DeleteShareGroupOffsets": (_topics, _share_member),
    "DeleteShareGroupState": (_topic_ids, _share_state),
    "DeleteTopics": (_topic_ids, _records),
    "DescribeClientQuotas": (_quotas,),
    "DescribeConfigs": (_topics, _topic_config),
    "DescribeGroups": (_topics, _offsets, _assignment),
    "DescribeLogDirs": (_topics, _records),
    "DescribeProducers": (_topics, _producer, _transaction),
    "DescribeShareGroupOffsets": (_topics, _records, _share_member),
    "DescribeTransactions": (_topics, _transaction),
    "DescribeUserScramCredentials": (_scram,),
    "EndTxn": (_topics, _transaction),
    "Fetch": (_topic_ids, _records, _producer, _fetch_session, _transaction),
    "FindCoordinator": (_offsets,),
    "Heartbeat": (_member, _assignment),
    "IncrementalAlterConfigs": (_topics, _topic_config),
    "InitProducerId": (_topics, _producer, _transaction),
    "InitializeShareGroupState": (_topic_ids, _share_state),
    "JoinGroup": (_assignment,),
    "LeaveGroup": (_assignment,),
    "ListGroups": (_topics, _offsets, _member),
    "ListOffsets": (_topics, _records, _transaction),
    "ListTransactions": (_topics, _transaction),
    "OffsetCommit": (_topic_ids, _assignment),
    "OffsetDelete": (_topics, _offsets, _assignment),
    "OffsetFetch": (_topic_ids, _offsets),
    "OffsetForLeaderEpoch": (_topics, _records),
    "Produce": (_topic_ids, _producer, _transaction),
    "ReadShareGroupState": (_topic_ids, _share_state),
    "ReadShareGroupStateSummary": (_topic_ids, _share_state),
    "SaslAuthenticate": (),
    "SaslHandshake": (),
    "ShareAcknowledge": (_topic_ids, _records, _share_member, _share_session),
    "ShareFetch": (_topic_ids, _records, _share_member, _share_session),
    "ShareGroupDescribe": (_topics, _share_member),
    "ShareGroupHeartbeat": (_topic_ids, _share_member),
    "StreamsGroupDescribe": (_topics, _streams_member),
    "StreamsGroupHeartbeat": (_topics, _streams_member),
    "StreamsGroupTopologyDescriptionUpdate": (_topics, _streams_member),
    "SyncGroup": (_member,),
    "TxnOffsetCommit": (_topics, _offsets, _transaction),
    "WriteShareGroupState": (_topic_ids, _share_state),
    "WriteTxnMarkers": (_topics, _transaction),
}
DEFAULT_PREPARATIONS = (_topic_ids, _records)

_METADATA = (
    "Metadata",
    9,
    {"topics": [{"name": "~a"}, {"name": "~b"}], "allow_auto_topic_creation": False},
)
_CONFIGS = (
    "DescribeConfigs",
    4,
    {"resources": [{"resource_type": 2, "resource_name": "~a", "configuration_keys": None}]},
)
_END_OFFSETS = (
    "ListOffsets",
    4,
    {
        "replica_id": -1,
        "topics": [
            {
                "name": "~a",
                "partitions": [
                    {"partition_index": 0, "timestamp": -1},
                    {"partition_index": 1, "timestamp": -1},
                ],
            }
        ],
    },
)
_ALL_RECORDS = (
    "Fetch",
    4,
    {
        "replica_id": -1,
        "max_bytes": 1_000_000,
        "topics": [
            {
                "topic": "~a",
                "partitions": [
                    {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000_000}
                ],
            }
        ],
    },
)
_GROUP = ("DescribeGroups", 4, {"groups": ["~g"]})
_COMMITTED = ("OffsetFetch", 5, {"group_id": "~g", "topics": None})
_ALL_QUOTAS = ("DescribeClientQuotas", 0, {"components": [], "strict": False})
_USERS = ("DescribeUserScramCredentials", 0, {"users": [{"name": "~u"}]})
_PRODUCERS = ("DescribeProducers", 0, {"topics": [{"name": "~a", "partition_indexes": [0]}]})

_CONSUMER_GROUP = ("ConsumerGroupDescribe", 1, {"group_ids": ["~g"]})
_SHARE_GROUP = ("ShareGroupDescribe", 1, {"group_ids": ["~g"]})
_SHARE_OFFSETS = ("DescribeShareGroupOffsets", 0, {"groups": [{"group_id": "~g", "topics": None}]})
_SHARE_STATE = (
    "ReadShareGroupState",
    0,
    {
        "group_id": "~g",
        "topics": [
            {"topic_id": "topic_id#0", "partitions": [{"partition": 0, "leader_epoch": 1}]},
        ],
    },
)
_STREAMS_GROUP = ("StreamsGroupDescribe", 0, {"group_ids": ["~g"]})
_TRANSACTIONS = ("DescribeTransactions", 0, {"transactional_ids": [TRANSACTIONAL_ID]})

COORDINATED = frozenset({_transaction})
"""What several brokers cannot do on one connection: Kafka's coordinator is any of them."""

AFTERWARDS: Mapping[str, Sequence[tuple[str, int, dict[str, Any]]]] = {
    "AddOffsetsToTxn": (_TRANSACTIONS,),
    "AddPartitionsToTxn": (_TRANSACTIONS,),
    "AlterClientQuotas": (_ALL_QUOTAS,),
    "AlterConfigs": (_CONFIGS,),
    "AlterPartitionReassignments": (_METADATA,),
    "AlterShareGroupOffsets": (_SHARE_OFFSETS, _SHARE_GROUP),
    "AlterUserScramCredentials": (_USERS,),
    "ConsumerGroupHeartbeat": (_CONSUMER_GROUP, _COMMITTED),
    "CreatePartitions": (_METADATA,),
    "CreateTopics": (_METADATA, _CONFIGS),
    "DeleteGroups": (_GROUP, _COMMITTED),
    "DeleteRecords": (_END_OFFSETS, _ALL_RECORDS),
    "DeleteShareGroupOffsets": (_SHARE_OFFSETS, _SHARE_GROUP),
    "DeleteShareGroupState": (_SHARE_STATE,),
    "DeleteTopics": (_METADATA,),
    "ElectLeaders": (_METADATA,),
    "EndTxn": (_TRANSACTIONS, _ALL_RECORDS, _PRODUCERS),
    "Heartbeat": (_GROUP,),
    "IncrementalAlterConfigs": (_CONFIGS,),
    "InitProducerId": (_TRANSACTIONS, _PRODUCERS),
    "InitializeShareGroupState": (_SHARE_STATE,),
    "JoinGroup": (_GROUP,),
    "LeaveGroup": (_GROUP,),
    "OffsetCommit": (_COMMITTED,),
    "OffsetDelete": (_COMMITTED,),
    "Produce": (_ALL_RECORDS, _END_OFFSETS, _PRODUCERS),
    "SaslAuthenticate": (_METADATA,),
    "ShareAcknowledge": (_SHARE_OFFSETS,),
    "ShareFetch": (_SHARE_OFFSETS,),
    "ShareGroupHeartbeat": (_SHARE_GROUP, _SHARE_OFFSETS),
    "StreamsGroupHeartbeat": (_STREAMS_GROUP, _COMMITTED),
    "SyncGroup": (_GROUP,),
    "TxnOffsetCommit": (_COMMITTED, _TRANSACTIONS),
    "WriteShareGroupState": (_SHARE_STATE,),
    "WriteTxnMarkers": (_ALL_RECORDS, _PRODUCERS, _END_OFFSETS),
}


def send(versions: Versions, api: str, version: int, **fields: Any) -> Send:
    low, high = versions.get(api, (version, version))
    return Send(api, min(max(version, low), high), fields)
