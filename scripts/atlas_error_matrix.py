"""Which errors Kafka 4.4 answers on each API, and what a client has to do with each.

`scripts.atlas_error_situations` makes a situation of each. The errors are those of Kafka's handlers
(`KafkaApis`, `ReplicaManager`, `GroupCoordinatorService`, `TransactionCoordinator`,
`ControllerApis`); the reactions are those of the Java client's handlers.

REQUEST_TIMED_OUT is one of older brokers: to InitProducerId until 3.3 (KAFKA-14417), to offsets
until the new coordinator. OPERATION_NOT_ATTEMPTED is not there: it comes beside other errors only.
"""

from typing import Any

from scripts.atlas_error_rules import (
    ABORT,
    FAIL,
    FENCE,
    GO_ON,
    NEW_SESSION,
    REJOIN,
    RETRY,
    Rules,
)

CONSUMER = "consumer/internals"
MANAGER = "producer/internals/TransactionManager"
QUICK_HEARTBEATS = {"heartbeat_interval_ms": 200, "session_timeout_ms": 6000}
CONSUMER_PROTOCOL = {
    "config": {
        "group.consumer.heartbeat.interval.ms": 200,
        "group.consumer.min.heartbeat.interval.ms": 200,
    }
}
SHARE_PROTOCOL = {
    "config": {
        "group.share.heartbeat.interval.ms": 200,
        "group.share.min.heartbeat.interval.ms": 200,
    }
}
OLD_TRANSACTIONS = {"release": "3.9"}
"""Before `transaction.version` 2, so that all clients add partitions themselves (KIP-890)."""
COORDINATOR = "COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR"
FENCED = "INVALID_PRODUCER_EPOCH PRODUCER_FENCED"
TXN_FATAL = f"{FENCED} TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_TXN_STATE"

PRODUCE = (
    Rules(
        api="Produce",
        area="producer",
        workload="produce",
        handler="producer/internals/Sender",
        is_also_for_ever=(RETRY, FAIL),
        errors={
            RETRY: "NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND REQUEST_TIMED_OUT "
            "NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION KAFKA_STORAGE_ERROR "
            "CORRUPT_MESSAGE UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID LEADER_NOT_AVAILABLE",
            FAIL: "MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE INVALID_REQUIRED_ACKS "
            "TOPIC_AUTHORIZATION_FAILED INVALID_TOPIC_EXCEPTION INVALID_TIMESTAMP INVALID_RECORD "
            "UNSUPPORTED_FOR_MESSAGE_FORMAT UNSUPPORTED_COMPRESSION_TYPE INVALID_REQUEST "
            "UNKNOWN_SERVER_ERROR CLUSTER_AUTHORIZATION_FAILED INVALID_PRODUCER_EPOCH",
        },
    ),
    Rules(
        api="Produce",
        area="transaction",
        workload="transaction",
        handler="producer/internals/TransactionManager",
        suffix="transaction",
        errors={
            RETRY: "NOT_ENOUGH_REPLICAS NOT_LEADER_OR_FOLLOWER REQUEST_TIMED_OUT "
            "CONCURRENT_TRANSACTIONS",
            ABORT: "TOPIC_AUTHORIZATION_FAILED TRANSACTION_ABORTABLE "
            "INVALID_TXN_STATE INVALID_RECORD",
            FENCE: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED PRODUCER_FENCED "
            "INVALID_PRODUCER_ID_MAPPING",
        },
    ),
)
FETCH = (
    Rules(
        api="Fetch",
        area="consumer",
        workload="consume",
        handler=f"{CONSUMER}/FetchCollector",
        records=10,
        is_also_for_ever=(RETRY, FAIL),
        errors={
            RETRY: "NOT_LEADER_OR_FOLLOWER REPLICA_NOT_AVAILABLE KAFKA_STORAGE_ERROR "
            "FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH OFFSET_NOT_AVAILABLE "
            "UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID",
            GO_ON: "UNKNOWN_SERVER_ERROR OFFSET_OUT_OF_RANGE",
            FAIL: "TOPIC_AUTHORIZATION_FAILED CORRUPT_MESSAGE",
            NEW_SESSION: "FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH "
            "FETCH_SESSION_TOPIC_ID_ERROR",
        },
    ),
    Rules(
        api="ListOffsets",
        area="consumer",
        workload="consume",
        handler=f"{CONSUMER}/OffsetFetcherUtils",
        records=10,
        is_also_for_ever=(RETRY, FAIL),
        errors={
            RETRY: "NOT_LEADER_OR_FOLLOWER REPLICA_NOT_AVAILABLE KAFKA_STORAGE_ERROR "
            "OFFSET_NOT_AVAILABLE LEADER_NOT_AVAILABLE FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH "
            "UNKNOWN_TOPIC_OR_PARTITION",
            FAIL: "TOPIC_AUTHORIZATION_FAILED",
        },
    ),
    Rules(
        api="OffsetForLeaderEpoch",
        area="consumer",
        workload="consume",
        handler=f"{CONSUMER}/OffsetsForLeaderEpochUtils",
        records=10,
        cluster={"brokers": 2},
        before=({"api": "Fetch", "topic": "orders", "leader": "next", "nth": 2},),
        arguments={"records": 11, "polls_max": 4},
        errors={
            RETRY: "NOT_LEADER_OR_FOLLOWER FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH "
            "UNKNOWN_TOPIC_OR_PARTITION KAFKA_STORAGE_ERROR OFFSET_NOT_AVAILABLE "
            "REPLICA_NOT_AVAILABLE",
            FAIL: "TOPIC_AUTHORIZATION_FAILED",
        },
    ),
)
METADATA = (
    Rules(
        api="Metadata",
        area="producer",
        workload="produce",
        handler="Metadata",
        is_also_for_ever=(RETRY, FAIL),
        errors={
            RETRY: "LEADER_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION",
            FAIL: "TOPIC_AUTHORIZATION_FAILED INVALID_TOPIC_EXCEPTION",
        },
    ),
    Rules(
        api="Metadata",
        area="consumer",
        workload="consume",
        handler="Metadata",
        suffix="consumer",
        records=10,
        is_also_for_ever=(RETRY, FAIL),
        errors={
            RETRY: "LEADER_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION",
            FAIL: "TOPIC_AUTHORIZATION_FAILED INVALID_TOPIC_EXCEPTION",
        },
    ),
)
TRANSACTIONS = (
    Rules(
        api="FindCoordinator",
        area="transaction",
        workload="transaction",
        handler=f"{MANAGER}",
        suffix="transaction",
        errors={
            RETRY: "COORDINATOR_NOT_AVAILABLE",
            FENCE: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        },
    ),
    Rules(
        api="InitProducerId",
        area="producer",
        workload="produce",
        handler=MANAGER,
        is_also_for_ever=(RETRY, FAIL),
        errors={
            RETRY: "COORDINATOR_LOAD_IN_PROGRESS",
            FAIL: "CLUSTER_AUTHORIZATION_FAILED UNKNOWN_SERVER_ERROR",
        },
    ),
    Rules(
        api="InitProducerId",
        area="transaction",
        workload="transaction",
        handler=MANAGER,
        suffix="transaction",
        errors={
            RETRY: f"{COORDINATOR} CONCURRENT_TRANSACTIONS REQUEST_TIMED_OUT",
            FAIL: "INVALID_TRANSACTION_TIMEOUT INVALID_REQUEST UNKNOWN_SERVER_ERROR "
            "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
            FENCE: FENCED,
        },
    ),
    Rules(
        api="AddPartitionsToTxn",
        area="transaction",
        workload="transaction",
        handler=MANAGER,
        cluster=OLD_TRANSACTIONS,
        errors={
            RETRY: f"{COORDINATOR} CONCURRENT_TRANSACTIONS UNKNOWN_TOPIC_OR_PARTITION",
            ABORT: "TOPIC_AUTHORIZATION_FAILED",
            FENCE: f"{TXN_FATAL} INVALID_PRODUCER_ID_MAPPING",
        },
    ),
    Rules(
        api="AddOffsetsToTxn",
        area="transaction",
        workload="process",
        handler=MANAGER,
        cluster=OLD_TRANSACTIONS,
        records=10,
        errors={
            RETRY: f"{COORDINATOR} CONCURRENT_TRANSACTIONS",
            ABORT: "GROUP_AUTHORIZATION_FAILED",
            FENCE: f"{TXN_FATAL} INVALID_PRODUCER_ID_MAPPING",
        },
    ),
    Rules(
        api="TxnOffsetCommit",
        area="transaction",
        workload="process",
        handler=MANAGER,
        records=10,
        errors={
            RETRY: f"{COORDINATOR} REQUEST_TIMED_OUT UNKNOWN_TOPIC_OR_PARTITION "
            "CONCURRENT_TRANSACTIONS",
            ABORT: "GROUP_AUTHORIZATION_FAILED FENCED_INSTANCE_ID UNKNOWN_MEMBER_ID "
            "ILLEGAL_GENERATION TRANSACTION_ABORTABLE",
            FENCE: f"{FENCED} TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
            FAIL: "TOPIC_AUTHORIZATION_FAILED OFFSET_METADATA_TOO_LARGE INVALID_COMMIT_OFFSET_SIZE",
        },
    ),
    Rules(
        api="EndTxn",
        area="transaction",
        workload="transaction",
        handler=MANAGER,
        errors={
            RETRY: f"{COORDINATOR} CONCURRENT_TRANSACTIONS",
            ABORT: "TRANSACTION_ABORTABLE",
            FENCE: f"{TXN_FATAL} INVALID_PRODUCER_ID_MAPPING",
        },
    ),
)
GROUPS = (
    Rules(
        api="FindCoordinator",
        area="group",
        workload="group",
        handler=f"{CONSUMER}/AbstractCoordinator",
        records=10,
        is_also_for_ever=(RETRY, FAIL),
        errors={RETRY: "COORDINATOR_NOT_AVAILABLE", FAIL: "GROUP_AUTHORIZATION_FAILED"},
    ),
    Rules(
        api="JoinGroup",
        area="group",
        workload="group",
        handler=f"{CONSUMER}/AbstractCoordinator",
        records=10,
        is_also_for_ever=(RETRY, FAIL),
        errors={
            RETRY: COORDINATOR,
            REJOIN: "UNKNOWN_MEMBER_ID REBALANCE_IN_PROGRESS",
            FAIL: "INCONSISTENT_GROUP_PROTOCOL INVALID_SESSION_TIMEOUT INVALID_GROUP_ID "
            "GROUP_AUTHORIZATION_FAILED GROUP_MAX_SIZE_REACHED FENCED_INSTANCE_ID",
        },
    ),
    Rules(
        api="SyncGroup",
        area="group",
        workload="group",
        handler=f"{CONSUMER}/AbstractCoordinator",
        records=10,
        is_also_for_ever=(REJOIN,),
        errors={
            RETRY: "COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR",
            REJOIN: "REBALANCE_IN_PROGRESS UNKNOWN_MEMBER_ID ILLEGAL_GENERATION",
            FAIL: "GROUP_AUTHORIZATION_FAILED FENCED_INSTANCE_ID INCONSISTENT_GROUP_PROTOCOL",
        },
    ),
    Rules(
        api="Heartbeat",
        area="group",
        workload="group",
        handler=f"{CONSUMER}/AbstractCoordinator",
        records=10,
        arguments={**QUICK_HEARTBEATS, "pause_ms": 700},
        errors={
            GO_ON: "COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR",
            REJOIN: "REBALANCE_IN_PROGRESS UNKNOWN_MEMBER_ID ILLEGAL_GENERATION",
            FAIL: "GROUP_AUTHORIZATION_FAILED FENCED_INSTANCE_ID",
        },
    ),
    Rules(
        api="LeaveGroup",
        area="group",
        workload="group",
        handler=f"{CONSUMER}/AbstractCoordinator",
        records=10,
        is_also_for_ever=(GO_ON,),
        errors={
            GO_ON: "UNKNOWN_MEMBER_ID COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR "
            "GROUP_AUTHORIZATION_FAILED FENCED_INSTANCE_ID"
        },
    ),
    Rules(
        api="OffsetCommit",
        area="group",
        workload="group",
        handler=f"{CONSUMER}/ConsumerCoordinator",
        records=10,
        is_also_for_ever=(RETRY,),
        errors={
            RETRY: f"{COORDINATOR} REQUEST_TIMED_OUT UNKNOWN_TOPIC_OR_PARTITION",
            FAIL: "REBALANCE_IN_PROGRESS UNKNOWN_MEMBER_ID ILLEGAL_GENERATION FENCED_INSTANCE_ID "
            "GROUP_AUTHORIZATION_FAILED TOPIC_AUTHORIZATION_FAILED OFFSET_METADATA_TOO_LARGE "
            "INVALID_COMMIT_OFFSET_SIZE UNKNOWN_SERVER_ERROR",
        },
    ),
    Rules(
        api="OffsetFetch",
        area="group",
        workload="group",
        handler=f"{CONSUMER}/ConsumerCoordinator",
        records=10,
        is_also_for_ever=(RETRY,),
        errors={
            RETRY: f"{COORDINATOR} UNSTABLE_OFFSET_COMMIT",
            FAIL: "GROUP_AUTHORIZATION_FAILED TOPIC_AUTHORIZATION_FAILED UNKNOWN_SERVER_ERROR",
        },
    ),
    Rules(
        api="ConsumerGroupHeartbeat",
        area="group",
        workload="group",
        handler=f"{CONSUMER}/AbstractHeartbeatRequestManager",
        records=10,
        arguments={"group_protocol": "consumer"},
        cluster=CONSUMER_PROTOCOL,
        is_also_for_ever=(RETRY,),
        errors={
            RETRY: COORDINATOR,
            REJOIN: "UNKNOWN_MEMBER_ID FENCED_MEMBER_EPOCH",
            FAIL: "GROUP_AUTHORIZATION_FAILED GROUP_MAX_SIZE_REACHED UNSUPPORTED_ASSIGNOR "
            "UNRELEASED_INSTANCE_ID FENCED_INSTANCE_ID INVALID_REQUEST INVALID_REGULAR_EXPRESSION "
            "UNKNOWN_SERVER_ERROR",
        },
    ),
)
SHARES = (
    Rules(
        api="ShareGroupHeartbeat",
        area="share",
        workload="share",
        handler=f"{CONSUMER}/AbstractHeartbeatRequestManager",
        records=10,
        cluster=SHARE_PROTOCOL,
        errors={
            RETRY: COORDINATOR,
            REJOIN: "UNKNOWN_MEMBER_ID FENCED_MEMBER_EPOCH",
            FAIL: "GROUP_AUTHORIZATION_FAILED GROUP_MAX_SIZE_REACHED INVALID_REQUEST",
        },
    ),
    Rules(
        api="ShareFetch",
        area="share",
        workload="share",
        handler=f"{CONSUMER}/ShareConsumeRequestManager",
        records=10,
        cluster=SHARE_PROTOCOL,
        errors={
            RETRY: "NOT_LEADER_OR_FOLLOWER FENCED_LEADER_EPOCH UNKNOWN_TOPIC_OR_PARTITION "
            "UNKNOWN_TOPIC_ID KAFKA_STORAGE_ERROR",
            NEW_SESSION: "SHARE_SESSION_NOT_FOUND INVALID_SHARE_SESSION_EPOCH",
            FAIL: "GROUP_AUTHORIZATION_FAILED TOPIC_AUTHORIZATION_FAILED",
        },
    ),
    Rules(
        api="ShareAcknowledge",
        area="share",
        workload="share",
        handler=f"{CONSUMER}/ShareConsumeRequestManager",
        records=10,
        cluster=SHARE_PROTOCOL,
        errors={
            NEW_SESSION: "SHARE_SESSION_NOT_FOUND INVALID_SHARE_SESSION_EPOCH",
            FAIL: "INVALID_RECORD_STATE NOT_LEADER_OR_FOLLOWER GROUP_AUTHORIZATION_FAILED",
        },
    ),
)


def _admin(
    api: str, call: str, arguments: dict[str, Any], retry: str, fail: str, *also: str
) -> Rules:
    return Rules(
        api=api,
        area="admin",
        workload="create_topic" if call == "create_topic" else "admin",
        handler="admin/KafkaAdminClient",
        arguments=arguments if call == "create_topic" else {"call": call, **arguments},
        is_also_for_ever=(RETRY,),
        also=also,
        errors={RETRY: retry, FAIL: fail},
    )


ADMINISTRATION = (
    _admin(
        "CreateTopics",
        "create_topic",
        {"topic": "new"},
        "NOT_CONTROLLER REQUEST_TIMED_OUT",
        "TOPIC_ALREADY_EXISTS INVALID_TOPIC_EXCEPTION INVALID_PARTITIONS "
        "INVALID_REPLICATION_FACTOR INVALID_REPLICA_ASSIGNMENT INVALID_CONFIG POLICY_VIOLATION "
        "INVALID_REQUEST TOPIC_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED "
        "UNKNOWN_SERVER_ERROR",
    ),
    _admin(
        "DeleteTopics",
        "delete_topic",
        {"topic": "orders"},
        "NOT_CONTROLLER REQUEST_TIMED_OUT",
        "UNKNOWN_TOPIC_OR_PARTITION TOPIC_DELETION_DISABLED TOPIC_AUTHORIZATION_FAILED "
        "INVALID_REQUEST UNKNOWN_SERVER_ERROR",
    ),
    _admin(
        "CreatePartitions",
        "create_partitions",
        {"topic": "orders", "partitions": 3},
        "NOT_CONTROLLER REQUEST_TIMED_OUT",
        "UNKNOWN_TOPIC_OR_PARTITION INVALID_PARTITIONS INVALID_REPLICA_ASSIGNMENT "
        "REASSIGNMENT_IN_PROGRESS TOPIC_AUTHORIZATION_FAILED INVALID_REQUEST",
    ),
    _admin(
        "DescribeConfigs",
        "describe_configs",
        {"topic": "orders"},
        "",
        "TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION INVALID_REQUEST "
        "UNKNOWN_SERVER_ERROR",
    ),
    _admin(
        "IncrementalAlterConfigs",
        "alter_config",
        {"topic": "orders", "config": {"retention.ms": "3600000"}},
        "NOT_CONTROLLER REQUEST_TIMED_OUT",
        "INVALID_CONFIG POLICY_VIOLATION TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION",
        "AlterConfigs",
    ),
    _admin(
        "ListGroups",
        "list_groups",
        {},
        "COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE",
        "CLUSTER_AUTHORIZATION_FAILED",
    ),
    _admin(
        "DescribeGroups",
        "describe_group",
        {"group": "billing"},
        COORDINATOR,
        "GROUP_AUTHORIZATION_FAILED INVALID_GROUP_ID",
        "ConsumerGroupDescribe",
    ),
    _admin(
        "DeleteGroups",
        "delete_group",
        {"group": "billing"},
        COORDINATOR,
        "NON_EMPTY_GROUP GROUP_ID_NOT_FOUND GROUP_AUTHORIZATION_FAILED INVALID_GROUP_ID",
    ),
    _admin(
        "DeleteRecords",
        "delete_records",
        {"topic": "orders", "partition": 0, "offset": 5},
        "NOT_LEADER_OR_FOLLOWER KAFKA_STORAGE_ERROR",
        "OFFSET_OUT_OF_RANGE TOPIC_AUTHORIZATION_FAILED POLICY_VIOLATION",
    ),
    _admin(
        "DescribeCluster",
        "describe_cluster",
        {},
        "",
        "CLUSTER_AUTHORIZATION_FAILED UNKNOWN_SERVER_ERROR",
    ),
)

ERROR_RULES = (*PRODUCE, *FETCH, *METADATA, *TRANSACTIONS, *GROUPS, *SHARES, *ADMINISTRATION)
