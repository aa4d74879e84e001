"""The fields in which our broker may differ from releases before Apache Kafka 4.4 only."""

from collections.abc import Mapping
from typing import Any

from proxy.diff.allowed_difference import AllowedDifference

_BEFORE_4 = ("3.9",)
_BEFORE_4_1 = ("3.9", "4.0")


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


DIFFERENCES_OF_OLDER_RELEASES: tuple[AllowedDifference, ...] = (
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
        "the records of groups have other versions in Kafka 3.9",
        place="*topics[__consumer_offsets]*",
        releases=_BEFORE_4,
    ),
)
