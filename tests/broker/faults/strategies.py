"""Strategies of valid rules, for a cluster of brokers 1 to 3."""

from typing import Any

from hypothesis import strategies as st

from broker.faults.rule import FaultRule, fault_rule
from protocol.errors import ErrorCode
from protocol.messages import API_NAMES
from tests.broker.faults.requests import GROUP, TOPIC, TOPIC_ID

brokers = st.integers(1, 3)
delays = st.integers(0, 2000)
small = st.integers(1, 4)

_MATCHERS: dict[str, st.SearchStrategy[Any]] = {
    "api": st.sampled_from(list(API_NAMES.values())),
    "version_min": st.integers(0, 12),
    "version_max": st.integers(0, 12),
    "topic": st.sampled_from([TOPIC, "other"]),
    "partition": st.integers(0, 1),
    "group": st.sampled_from([GROUP, "other"]),
    "transactional_id": st.just("x"),
    "resource": st.sampled_from(["alice", TOPIC]),
    "topic_id": st.just(str(TOPIC_ID)),
    "where": st.sampled_from(
        [
            {"group_id": GROUP},
            {"topics[].name": {"matches": "t+"}},
            {"topics[].partitions[].partition_index": [0, {"min": 7}]},
        ]
    ),
    "broker": brokers,
    "client_id": st.sampled_from(["test", "other"]),
    "user": st.sampled_from(["ANONYMOUS", "alice"]),
    "connection": st.integers(1, 2),
}
_FIRING: dict[str, st.SearchStrategy[Any]] = {
    "nth": small,
    "skip": st.integers(0, 2),
    "every": small,
    "times": small,
    "after_ms": delays,
    "until_ms": delays,
    "probability": st.floats(0, 1, exclude_min=True),
    "seed": st.integers(-5, 5),
}
_EFFECTS: dict[str, st.SearchStrategy[Any]] = {
    "error": st.sampled_from([code.name for code in ErrorCode if code]),
    "level": st.sampled_from(["top", "part"]),
    "response": st.sampled_from([{}, {"throttle_time_ms": 7}, {"topics": []}]),
    "throttle_time_ms": delays,
    "mute": st.booleans(),
    "delay_request_ms": delays,
    "delay_ms": delays,
    "jitter_ms": delays,
    "bytes_per_second": st.integers(1, 10_000),
    "drop": st.sampled_from(["before_handling", "before_response", "within_response"]),
    "hang": st.sampled_from(["before_handling", "before_response"]),
    "truncate_bytes": st.integers(1, 300),
    "corrupt_bytes": st.integers(1, 300),
    "oversize_bytes": st.integers(1, 300),
    "announce_bytes": st.integers(-(1 << 31), (1 << 31) - 1),
    "stale_metadata": st.just(True),
    "leader": st.one_of(brokers, st.sampled_from(["next", "none"])),
    "coordinator": st.one_of(brokers, st.just("next")),
    "stop_broker": st.one_of(brokers, st.just("self")),
    "isolate_broker": st.one_of(brokers, st.just("self")),
    "fence_broker": st.one_of(brokers, st.just("self")),
    "start_broker": brokers,
    "api_versions": st.sampled_from(["2.8", "Produce=7", "4.4"]),
    "members": st.sampled_from(["rebalance", "fence"]),
    "advance_ms": st.integers(1, 100_000),
    "elect": st.booleans(),
    "restart_after_ms": delays,
    "drop_after_bytes": st.integers(0, 300),
    "at": st.sampled_from(["before_handling", "before_response"]),
}


@st.composite
def rules(draw: st.DrawFn, *, may_touch_cluster: bool = True) -> FaultRule:
    """A rule about requests."""
    fields: dict[str, Any] = {}
    for known in (_MATCHERS, _FIRING, _EFFECTS):
        chosen = draw(st.lists(st.sampled_from(list(known)), max_size=3, unique=True))
        fields |= {name: draw(known[name]) for name in chosen}
    if not may_touch_cluster:
        for name in (
            "leader",
            "coordinator",
            "stop_broker",
            "isolate_broker",
            "fence_broker",
            "start_broker",
            "api_versions",
            "members",
            "advance_ms",
        ):
            fields.pop(name, None)
    if fields.get("leader") is not None:
        fields.setdefault("topic", TOPIC)
    if fields.get("coordinator") is not None or fields.get("members") is not None:
        fields.setdefault("group", GROUP)
    if "drop_after_bytes" in fields:
        fields["drop"] = "within_response"
    return sensible(fields)


@st.composite
def rules_without_a_request(draw: st.DrawFn) -> FaultRule:
    """A rule about new connections, or about the cluster as soon as it is added."""
    known = _MATCHERS | _FIRING | _EFFECTS
    chosen = draw(st.lists(st.sampled_from(list(known)), max_size=4, unique=True))
    fields = {name: draw(known[name]) for name in chosen}
    kind: dict[str, Any] = draw(
        st.one_of(
            st.just({"refuse_connection": True}),
            st.builds(lambda ms: {"delay_connection_ms": ms}, delays),
            st.just({"leader": "next", "topic": TOPIC, "at_once": True}),
            st.just({"members": "fence", "group": GROUP, "at_once": True}),
            st.just({"api_versions": "2.8", "broker": 2, "at_once": True}),
            st.just({"advance_ms": 1000, "at_once": True}),
            st.just({"coordinator": 2, "group": GROUP, "at_once": True}),
            st.builds(lambda node_id: {"stop_broker": node_id, "at_once": True}, brokers),
        )
    )
    return sensible(fields | kind)


def sensible(fields: dict[str, Any]) -> FaultRule:
    """Return a valid rule with some of these fields."""
    while True:
        try:
            return fault_rule(**fields)
        except ValueError as error:
            name, _, _ = str(error).partition(":")
            if name in fields:
                del fields[name]
            elif "delay_ms" not in fields:
                fields["delay_ms"] = 0
            else:
                raise
