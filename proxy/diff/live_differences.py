"""What may differ between a cluster in use and our broker with its recorded world."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from proxy.diff.field_comparison import FieldDifference

_BROKER_TYPES = (4, 8)
"""The types of the resources BROKER and BROKER_LOGGER."""
MOVING_END = "the end of a log moves while both clusters are asked"
MOVING_END = "the end of a log moves while both clusters are asked"
_LATEST, _LATEST_TIERED, _MAX_TIMESTAMP = -1, -5, -3


@dataclass(frozen=True, slots=True)
class LiveDifference:
    """A field that may differ; `*` in `path` stands for anything."""

    api: str
    path: str
    reason: str
    kind: str = ""
    request: Callable[[Mapping[str, Any]], bool] | None = None
    place: str = "*"


def _asks_for_the_end(arguments: Mapping[str, Any]) -> bool:
    """Whether a ListOffsets request asks for an offset that producers move."""
    return any(
        partition.get("timestamp") in {_LATEST, _LATEST_TIERED, _MAX_TIMESTAMP}
        for topic in arguments.get("topics") or ()
        for partition in topic.get("partitions") or ()
    )


def _describes_brokers(arguments: Mapping[str, Any]) -> bool:
    resources = arguments.get("resources") or ()
    return any(resource.get("resource_type") in _BROKER_TYPES for resource in resources)


LIVE_DIFFERENCES: tuple[LiveDifference, ...] = (
    LiveDifference("*", "throttle_time_ms", "quotas measure time, which differs"),
    *(
        LiveDifference(
            "ListOffsets",
            f"topics.partitions.{name}",
            MOVING_END,
            request=_asks_for_the_end,
        )
        for name in ("offset", "timestamp", "leader_epoch")
    ),
    LiveDifference(
        "ListOffsets",
        "topics.partitions.leader_epoch",
        "a recorded record does not have the epoch in which it was written",
    ),
    LiveDifference(
        "DescribeConfigs",
        "results.configs*",
        "a broker of the recorded world has other directories, listeners and threads",
        request=_describes_brokers,
    ),
    LiveDifference(
        "DescribeLogDirs", "*", "batches are recorded in other sizes, and on another disk"
    ),
    LiveDifference(
        "ApiVersions",
        "supported_features*",
        "the features that a release could finalize are not recorded",
    ),
)

_LEFT_OUT = frozenset(
    {
        "aborted_transactions",
        "acquired_records",
        "acquisition_lock_timeout_ms",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "records",
    }
)
"""Fields that show the moment of the response, or are compared by offset."""


def allowed_live(difference: FieldDifference, arguments: Mapping[str, Any]) -> str | None:
    """Return why a field may differ, or None; `arguments` are those of the request."""
    path = difference.path.replace("[]", "")
    for allowed in LIVE_DIFFERENCES:
        if (
            fnmatchcase(difference.api, allowed.api)
            and fnmatchcase(path, allowed.path)
            and (not allowed.kind or difference.kind == allowed.kind)
            and (allowed.request is None or allowed.request(arguments))
        ):
            return allowed.reason
    return None


def without_moving_fields(api: str, real: Any, ours: Any) -> tuple[Any, Any]:
    """Return both responses without what depends on the moment.

    Of Fetch that are records, which are compared by their offsets, and partitions without an error,
    which a response in a session has only if they have changed. Of ShareFetch it is which records
    a member acquires: what becomes of them shows in the acknowledgements.
    """
    if api not in {"Fetch", "ShareFetch"} or any(
        not isinstance(response, dict) or "responses" not in response for response in (real, ours)
    ):
        return real, ours
    both = [_partitions(response) for response in (real, ours)]
    failed = {key for one in both for key, partition in one.items() if partition["error_code"]}
    shown = failed | (both[0].keys() & both[1].keys() if api == "Fetch" else set())
    without_records = [
        {
            **response,
            "responses": [
                {"topic": f"{key[0]}-{key[1]}", **_settled(partitions[key])}
                for key in sorted(shown & partitions.keys())
            ],
        }
        for response, partitions in zip((real, ours), both, strict=True)
    ]
    return without_records[0], without_records[1]


def _settled(partition: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in partition.items() if name not in _LEFT_OUT}


def _partitions(response: Mapping[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the partitions of a response by topic and index."""
    return {
        (topic.get("topic") or topic.get("topic_id"), partition["partition_index"]): partition
        for topic in response["responses"]
        for partition in topic["partitions"]
    }
