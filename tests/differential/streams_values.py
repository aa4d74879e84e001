"""What generated heartbeats of streams groups contain; `values` has all other requests."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

STREAMS_MEMBER = "~m"
STREAMS_FIELDS: Mapping[str, Sequence[Any]] = {
    "StreamsGroupHeartbeat.member_id": (STREAMS_MEMBER, STREAMS_MEMBER, "~n", ""),
    "StreamsGroupHeartbeat.member_epoch": (0, 0, 1, 2, 3, -1, -2, -3),
    "StreamsGroupHeartbeat.instance_id": (None, None, None, "i", ""),
    "StreamsGroupHeartbeat.rack_id": (None, None, "r", ""),
    "StreamsGroupHeartbeat.rebalance_timeout_ms": (45_000, 45_000, 1000, -1, 0),
    "StreamsGroupHeartbeat.process_id": ("p", "p", None, ""),
    "StreamsGroupHeartbeat.shutdown_application": (False, False, False, True),
}


def _subtopology(number: str, source: str, **fields: Any) -> dict[str, Any]:
    return {"subtopology_id": number, "source_topics": [source], **fields}


TOPOLOGY = {"epoch": 0, "subtopologies": [_subtopology("0", "~a")]}
_TOPOLOGIES = (
    TOPOLOGY,
    TOPOLOGY,
    None,
    None,
    {"epoch": 1, "subtopologies": [_subtopology("0", "~a")]},
    {"epoch": 0, "subtopologies": [_subtopology("0", "~b")]},
    {"epoch": 0, "subtopologies": [_subtopology("0", "~missing"), _subtopology("1", "~a")]},
    {"epoch": 0, "subtopologies": [_subtopology("0", "~a", source_topic_regex=["a.*"])]},
    {"epoch": 0, "subtopologies": []},
    {
        "epoch": 0,
        "subtopologies": [
            _subtopology(
                "0", "~a", state_changelog_topics=[{"name": "~c", "replication_factor": 1}]
            )
        ],
    },
    {
        "epoch": 0,
        "subtopologies": [
            _subtopology("0", "~a", repartition_sink_topics=["~r"]),
            {
                "subtopology_id": "1",
                "repartition_source_topics": [{"name": "~r", "replication_factor": 1}],
            },
        ],
    },
    {
        "epoch": 0,
        "subtopologies": [
            {
                "subtopology_id": "0",
                "source_topics": ["~a", "~b"],
                "copartition_groups": [{"source_topics": [0, 1]}],
            }
        ],
    },
)
_TASKS = st.sampled_from(
    ([], [], [], None, None, [{"subtopology_id": "0", "partitions": [0, 1]}], [{"partitions": [9]}])
)
STREAMS_STRUCTS: Mapping[str, SearchStrategy[Any]] = {
    "StreamsGroupHeartbeat.topology": st.sampled_from(_TOPOLOGIES),
    "StreamsGroupHeartbeat.active_tasks": _TASKS,
    "StreamsGroupHeartbeat.standby_tasks": _TASKS,
    "StreamsGroupHeartbeat.warmup_tasks": _TASKS,
}
