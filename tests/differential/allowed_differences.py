"""The fields in which our broker may differ from Apache Kafka, each with its reason.

`python -m scripts.compatibility_table` writes this list into docs/compatibility.md. What only has
another name in each cluster (ids, hosts, times) is in `canonical.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from protocol.configs import ResourceType


@dataclass(frozen=True, slots=True)
class AllowedDifference:
    """A field of an API's response; `*` stands for any text in both names.

    `kind` limits it to entries that are `missing`, `extra` or in another `order`, or to a
    `connection` on which only one of both responds. `kafka` limits it to this answer of Kafka,
    `place` to entries with these keys, `request` to requests whose arguments it accepts,
    `brokers_min` to clusters of at least so many brokers, `releases` to comparisons with these.
    """

    api: str
    path: str
    reason: str
    kind: str = ""
    kafka: Any = field(default=None, hash=False)
    place: str = "*"
    request: Callable[[Mapping[str, Any]], bool] | None = None
    brokers_min: int = 1
    releases: tuple[str, ...] = ()


_SPREAD_TOPICS = ("__consumer_offsets", "__share_group_state", "__transaction_state")
_BEFORE_4 = ("3.9",)
_BEFORE_4_1 = ("3.9", "4.0")
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


def _commits_a_partition_twice(arguments: Mapping[str, Any]) -> bool:
    """Whether two entries of an OffsetCommit or TxnOffsetCommit request are equal."""
    partitions = [
        (topic.get("name", ""), partition.get("partition_index", 0))
        for topic in arguments.get("topics") or ()
        for partition in topic.get("partitions") or ()
    ]
    return len(set(partitions)) < len(partitions)


def _alters_share_offset_reset(arguments: Mapping[str, Any]) -> bool:
    return any(
        entry.get("name") == "share.auto.offset.reset"
        for resource in arguments.get("resources") or ()
        for entry in resource.get("configs") or ()
    )


def _has_unknown_isolation_level(arguments: Mapping[str, Any]) -> bool:
    return arguments.get("isolation_level", 0) not in {0, 1}


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
    *(
        AllowedDifference(
            "AlterShareGroupOffsets",
            path,
            "Kafka 4.1.0 ignores topics that exist, and all errors of the request; here offsets"
            " change as in Kafka 4.2",
            releases=("4.1",),
            kind=kind,
            kafka=kafka,
        )
        for path, kind, kafka in (
            ("error_code", "value", 0),
            ("error_message", "value", None),
            ("responses[]", "missing", None),
            ("responses[]", "extra", None),
        )
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
            ("DeleteRecords", "topics"),
            ("DeleteRecords", "topics[].partitions"),
            ("DescribeClientQuotas", "entries"),
            ("DescribeLogDirs", "results[].topics"),
            ("DescribeLogDirs", "results[].topics[].partitions"),
            ("DescribeProducers", "topics[].partitions[].active_producers"),
            ("DescribeTransactions", "transaction_states[].topics"),
            ("DescribeTransactions", "transaction_states[].topics[].partitions"),
            ("DescribeUserScramCredentials", "results"),
            ("ElectLeaders", "replica_election_results"),
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
            ("*GroupHeartbeat", "assignment.topic_partitions"),
            ("*ShareGroupState*", "results"),
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
        "ApiVersions",
        "api_keys[].min_version",
        "versions that Kafka 4 removed are not served",
        releases=_BEFORE_4,
    ),
    *(
        AllowedDifference(
            api,
            path,
            "keys that Kafka 4 removed do not exist",
            kind="missing",
            place=f"*configs[message.{key}]",
            releases=_BEFORE_4,
        )
        for api, path in (
            ("CreateTopics", "topics[].configs[]"),
            ("DescribeConfigs", "results[].configs[]"),
        )
        for key in ("downconversion.enable", "format.version", "timestamp.difference.max.ms")
    ),
    *(
        AllowedDifference(
            "ListOffsets",
            path,
            "Kafka 3.9 responds to each entry of a request; here equal ones are one, as in Kafka 4",
            kind=kind,
            releases=_BEFORE_4,
        )
        for path, kind in (
            ("topics[]", "missing"),
            ("topics[].partitions[]", "missing"),
            ("topics[].partitions[]", "extra"),
        )
    ),
    *(
        AllowedDifference(
            "ListOffsets",
            f"topics[].partitions[].{name}",
            "Kafka 3.9 looks at the isolation level last; here it is first, as in Kafka 4",
            request=_has_unknown_isolation_level,
            releases=_BEFORE_4,
        )
        for name in ("error_code", "timestamp", "offset", "leader_epoch")
    ),
    AllowedDifference(
        "OffsetFetch",
        "response",
        "Kafka before 4.1 never responds to a request without groups; here it does",
        kind="connection",
        kafka={"connection": "no response"},
        request=lambda arguments: not arguments.get("groups"),
        releases=_BEFORE_4_1,
    ),
    *(
        AllowedDifference(
            "OffsetFetch",
            path,
            "Kafka 3.9 responds once for equal entries of a request; here to each, as in Kafka 4",
            kind=kind,
            releases=_BEFORE_4,
        )
        for path in (
            "topics[]",
            "topics[].partitions[]",
            "groups[].topics[]",
            "groups[].topics[].partitions[]",
        )
        for kind in ("missing", "extra")
    ),
    *(
        AllowedDifference(
            api,
            path,
            "Kafka 3.9 responds once for equal entries of a request, of which the last one counts;"
            " here to each, as in Kafka 4",
            kind=kind,
            request=_commits_a_partition_twice,
            releases=_BEFORE_4,
        )
        for api in ("OffsetCommit", "TxnOffsetCommit")
        for path, kind in (
            ("topics[].partitions[]", "extra"),
            ("topics[].partitions[].error_code", "value"),
        )
    ),
    AllowedDifference(
        "DeleteGroups",
        "results",
        "Kafka 3.9's order is that of a hash map; here it is that of the request, as in Kafka 4",
        kind="order",
        releases=_BEFORE_4,
    ),
    *(
        AllowedDifference(
            api,
            "responses[].error_message",
            "Kafka 4.0 says `nS.>` where Kafka 4.1 and this broker say `nS>`",
            request=_alters_share_offset_reset,
            releases=("4.0",),
        )
        for api in ("AlterConfigs", "IncrementalAlterConfigs")
    ),
    *(
        AllowedDifference(
            "ConsumerGroupDescribe",
            path,
            "Kafka 4.0 describes all groups once for each of their coordinators",
            kind=kind,
            releases=("4.0",),
        )
        for path, kind in (("groups", "order"), ("groups[]", "missing"))
    ),
    *(
        AllowedDifference(
            "ConsumerGroupDescribe",
            f"groups[].{name}",
            "Kafka 4.0 has UNKNOWN_SERVER_ERROR for an empty id and its neighbours",
            request=lambda arguments: "" in (arguments.get("group_ids") or ()),
            releases=("4.0",),
        )
        for name in ("error_code", "error_message")
    ),
    *(
        AllowedDifference(
            api,
            path,
            "Kafka 4.0 takes two epochs when InitProducerId aborts a transaction (KAFKA-19367)",
            releases=("4.0",),
        )
        for api, path in (
            ("DescribeProducers", "topics[].partitions[].active_producers[].producer_epoch"),
            ("DescribeTransactions", "transaction_states[].producer_epoch"),
        )
    ),
    AllowedDifference(
        "DescribeLogDirs",
        "results[].topics[].partitions[].partition_size",
        "Kafka writes into one batch what groups change at the same time",
        place="*topics[__consumer_offsets]*",
    ),
    AllowedDifference(
        "DescribeLogDirs",
        "results[].topics[].partitions[].partition_size",
        "the records of groups have other versions in Kafka 3.9",
        place="*topics[__consumer_offsets]*",
        releases=_BEFORE_4,
    ),
)
