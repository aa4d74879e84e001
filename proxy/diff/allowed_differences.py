"""The fields in which our broker may differ from Apache Kafka, each with its reason.

`python -m scripts.compatibility_table` writes this list into docs/compatibility.md. What only has
another name in each cluster (ids, hosts, times) is in `mapped_fields.py`.
"""

from collections.abc import Mapping
from typing import Any

from protocol.configs import ResourceType
from proxy.diff.allowed_difference import AllowedDifference
from proxy.diff.older_releases import DIFFERENCES_OF_OLDER_RELEASES

_SPREAD_TOPICS = ("__consumer_offsets", "__share_group_state", "__transaction_state")
_RESOURCE_TYPES = frozenset(ResourceType)


def _names_a_resource_twice(arguments: Mapping[str, Any]) -> bool:
    """Whether two resources are equal for Kafka, to which all unknown types are the same."""
    resources = [
        (
            resource.get("resource_type")
            if resource.get("resource_type") in _RESOURCE_TYPES
            else 0,
            resource.get("resource_name", ""),
        )
        for resource in arguments.get("resources", ())
    ]
    return len(set(resources)) < len(resources)


def _has_null_records(arguments: Mapping[str, Any]) -> bool:
    """Whether a Produce request has a partition with null instead of records."""
    return any(
        "records" in partition and partition["records"] is None
        for topic in arguments.get("topic_data") or ()
        for partition in topic.get("partition_data") or ()
    )


def _fetches_all_offsets(arguments: Mapping[str, Any]) -> bool:
    """Whether an OffsetFetch request has null instead of topics."""
    requested = (arguments, *(arguments.get("groups") or ()))
    return any("topics" in group and group["topics"] is None for group in requested)


def _may_wait_for_markers(arguments: Mapping[str, Any]) -> bool:
    """Whether Kafka may count more markers of WriteTxnMarkers than it writes.

    A marker names a partition twice, or there are several: one without a partition of the broker
    counts after others were written.
    """
    markers = arguments.get("markers") or ()
    for marker in markers:
        partitions = [
            (topic.get("name", ""), index)
            for topic in marker.get("topics") or ()
            for index in topic.get("partition_indexes") or ()
        ]
        if len(set(partitions)) < len(partitions):
            return True
    return len(markers) > 1


ALLOWED_DIFFERENCES: tuple[AllowedDifference, ...] = (
    AllowedDifference(
        "AlterConfigs",
        "response",
        "Kafka never responds if a resource occurs twice; here it gets an error",
        kind="connection",
        kafka={"connection": "no response"},
        request=_names_a_resource_twice,
    ),
    AllowedDifference(
        "AddPartitionsToTxn",
        "response",
        "Kafka never responds to a broker that names no transaction; here it does",
        kind="connection",
        kafka={"connection": "no response"},
        request=lambda arguments: not arguments.get("transactions"),
    ),
    AllowedDifference(
        "Produce",
        "response",
        "Kafka never responds to null instead of records; here they are an INVALID_RECORD",
        kind="connection",
        kafka={"connection": "no response"},
        request=_has_null_records,
    ),
    AllowedDifference(
        "DescribeShareGroupOffsets",
        "response",
        "Kafka asks for the state of a partition that does not exist for half a minute",
        kind="connection",
        kafka={"connection": "no response"},
    ),
    AllowedDifference(
        "WriteTxnMarkers",
        "response",
        "Kafka never responds if a marker names a partition twice, or has none of the broker's and"
        " comes after another marker; here it does",
        kind="connection",
        kafka={"connection": "no response"},
        request=_may_wait_for_markers,
    ),
    AllowedDifference(
        "*",
        "*error_message",
        "Kafka names an object of its Java code, with addresses; here it is the API",
        kafka_text="Request Request(*) needs * permission.",
    ),
    AllowedDifference(
        "ApiVersions", "finalized_features_epoch", "the number of metadata records until now"
    ),
    AllowedDifference(
        "DescribeConfigs", "results[].configs[].documentation", "each project has its own words"
    ),
    AllowedDifference(
        "DescribeLogDirs",
        "results[].topics[].partitions[].partition_size",
        "both look for transactions that timed out every 10 s, but not at the same moments",
        place="*topics[__transaction_state]*",
    ),
    *(
        AllowedDifference(
            "DescribeLogDirs",
            "results[].topics[].partitions[]",
            "Kafka places the partitions from a random broker on",
            kind=kind,
            place=f"*topics[{topic}]*",
            brokers_min=2,
        )
        for topic in _SPREAD_TOPICS
        for kind in ("missing", "extra")
    ),
    AllowedDifference(
        "DescribeLogDirs", "results[].total_bytes", "the size of the machine's disk; -1 here"
    ),
    AllowedDifference(
        "DescribeLogDirs", "results[].usable_bytes", "the free space of the machine's disk; -1 here"
    ),
    *(
        AllowedDifference(
            "DescribeQuorum", path, "the number of metadata records or elections until now"
        )
        for path in (
            "topics[].partitions[].leader_epoch",
            "topics[].partitions[].high_watermark",
            "topics[].partitions[].current_voters[].log_end_offset",
            "topics[].partitions[].observers[].log_end_offset",
        )
    ),
    AllowedDifference("DescribeQuorum", "nodes[].listeners[].port", "where the controller listens"),
    *(
        AllowedDifference(
            api,
            "controller_id",
            "Kafka names any live broker; here it is broker 1 while that is up",
            brokers_min=2,
        )
        for api in ("DescribeCluster", "Metadata")
    ),
    *(
        AllowedDifference(
            api,
            f"topics[].partitions[].{name}",
            "Kafka places the partitions from a random broker on",
            place=f"topics[{topic}]*",
            brokers_min=2,
        )
        for topic in _SPREAD_TOPICS
        for api in ("DescribeTopicPartitions", "Metadata")
        for name in ("leader_id", "replica_nodes", "isr_nodes")
    ),
    AllowedDifference("DeleteTopics", "responses", "Kafka shuffles them", kind="order"),
    AllowedDifference(
        "DescribeUserScramCredentials",
        "results[].credential_infos",
        "Kafka's order of the mechanisms is another one after each start",
        kind="order",
    ),
    *(
        AllowedDifference(api, path, "Kafka's order is that of a hash map", kind="order")
        for api, path in (
            ("AddPartitionsToTxn", "results_by_topic_v3_and_below"),
            ("AddPartitionsToTxn", "results_by_topic_v3_and_below[].results_by_partition"),
            ("AddPartitionsToTxn", "results_by_transaction[].topic_results"),
            ("AddPartitionsToTxn", "results_by_transaction[].topic_results[].results_by_partition"),
            ("AlterClientQuotas", "entries"),
            ("AlterReplicaLogDirs", "results"),
            ("AlterReplicaLogDirs", "results[].partitions"),
            ("AlterUserScramCredentials", "results"),
            ("CreatePartitions", "results"),
            ("DeleteAcls", "filter_results[].matching_acls"),
            ("DeleteRecords", "topics"),
            ("DeleteRecords", "topics[].partitions"),
            ("DescribeAcls", "resources"),
            ("DescribeAcls", "resources[].acls"),
            ("DescribeClientQuotas", "entries"),
            ("DescribeLogDirs", "results[].topics"),
            ("DescribeLogDirs", "results[].topics[].partitions"),
            ("DescribeProducers", "topics[].partitions[].active_producers"),
            ("DescribeTransactions", "transaction_states[].topics"),
            ("DescribeTransactions", "transaction_states[].topics[].partitions"),
            ("DescribeUserScramCredentials", "results"),
            ("ElectLeaders", "replica_election_results"),
            ("JoinGroup", "members"),
            ("ListConfigResources", "config_resources"),
            ("ListGroups", "groups"),
            ("ListOffsets", "topics"),
            ("ListOffsets", "topics[].partitions"),
            ("Metadata", "topics"),
            ("Metadata", "topics[].partitions"),
            ("Produce", "responses"),
            ("Produce", "responses[].partition_responses"),
            ("SaslHandshake", "mechanisms"),
            ("WriteTxnMarkers", "markers"),
            ("WriteTxnMarkers", "markers[].topics"),
            ("WriteTxnMarkers", "markers[].topics[].partitions"),
        )
    ),
    *(
        AllowedDifference(
            api,
            path,
            "Kafka's order is that of a hash map of topic ids, which each cluster chooses",
            kind="order",
        )
        for api, path in (
            ("ConsumerGroupHeartbeat", "assignment.topic_partitions"),
            ("DeleteShareGroupState", "results"),
            ("InitializeShareGroupState", "results"),
            ("ReadShareGroupState", "results"),
            ("ReadShareGroupStateSummary", "results"),
            ("ShareGroupHeartbeat", "assignment.topic_partitions"),
            ("WriteShareGroupState", "results"),
            ("DeleteShareGroupOffsets", "responses"),
            ("DescribeShareGroupOffsets", "groups[].topics"),
            ("ShareAcknowledge", "responses"),
            ("ShareFetch", "responses"),
            ("ShareGroupDescribe", "groups[].members[].assignment.topic_partitions"),
        )
    ),
    *(
        AllowedDifference(
            "OffsetFetch",
            path,
            "of all offsets of a group Kafka's order is that of a hash map",
            kind="order",
            request=_fetches_all_offsets,
        )
        for path in (
            "topics",
            "topics[].partitions",
            "groups[].topics",
            "groups[].topics[].partitions",
        )
    ),
    AllowedDifference(
        "DescribeLogDirs",
        "results[].topics[].partitions[].partition_size",
        "Kafka writes into one batch what groups change at the same time",
        place="*topics[__consumer_offsets]*",
    ),
    *DIFFERENCES_OF_OLDER_RELEASES,
)
