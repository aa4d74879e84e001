"""Plans of Produce requests with changes of the cluster in between, for properties."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.broker.dispatch.produce_runs import TOPICS, Change, Produce

TOPIC_CHANGES = (
    ("max.message.bytes", "80"),
    ("max.message.bytes", "1000000"),
    ("segment.bytes", "1048576"),
    ("min.insync.replicas", "2"),
    ("min.insync.replicas", "1"),
    ("message.timestamp.type", "LogAppendTime"),
    ("message.timestamp.type", "CreateTime"),
    ("message.timestamp.before.max.ms", "1000"),
    ("message.timestamp.after.max.ms", "1000"),
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "delete"),
    ("retention.bytes", "300"),
)
BROKER_CHANGES = (
    (None, "producer.state.batches", "1"),
    (None, "producer.state.batches", "5"),
    (None, "log.memory.max.bytes", "1000"),
    (2, "message.max.bytes", "80"),
    (1, "message.max.bytes", "80"),
    (None, "broker.api.versions", "Produce=3-8"),
    (1, "client.quota.shadow", "true"),
)
DAMAGES = (
    (0, ">q", 1, False),
    (8, ">i", 70, False),
    (16, ">b", 1, True),
    (17, ">I", 1, False),
    (21, ">h", 0x08, True),
    (21, ">h", 0x10, True),
    (21, ">h", 0x20, True),
    (21, ">h", 5, True),
    (23, ">i", 3, True),
    (43, ">q", 7, True),
    (53, ">i", -1, True),
    (57, ">i", 0, True),
)


def rarely(values: Any, usual: Any) -> st.SearchStrategy[Any]:
    return st.integers(0, 9).flatmap(
        lambda chance: st.just(usual) if chance else st.sampled_from(values)
    )


VERSIONS = (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
usual_produces = st.builds(
    Produce,
    topics=st.sampled_from((("t",), ("t",), TOPICS)),
    indexes=st.sampled_from(((0,), (0,), (0, 1), (1, 0))),
    version=st.sampled_from((9, 9, 3, 5, 7, 8, 11, 12, 13)),
    acks=st.sampled_from((-1, -1, 1, 0)),
    producer_id=st.sampled_from((-1, 0, 7)),
    count=st.just(3),
)
variations = st.fixed_dictionaries(
    {
        "connection": rarely((1, 2), 0),
        "producer_epoch": rarely((1,), 0),
        "gap": rarely((-2, -1, 1), 0),
        "records": rarely((2, 5), 1),
        "value": rarely((b"", b"a longer value" * 10, b"x" * 20_000), b"value"),
        # Not gzip, because its header has the real time.
        "codec": rarely(("lz4", "zstd"), "none"),
        "later_ms": rarely((-10_000, 5_000, 4_000_000), 0),
        "damage": rarely(DAMAGES, None),
        "damaged_from": st.sampled_from((0, 1)),
        "growth": rarely((1, 60, 20_000), 0),
        "count": st.sampled_from((1, 2, 5)),
        "client_id": rarely(("another",), "client"),
        "cut": rarely((1, 5, 30, 100), None),
        "rest": rarely((b"rest",), b""),
    }
)
others = st.fixed_dictionaries(
    {
        "topics": st.sampled_from((("t",), (TOPICS[1],), TOPICS[::-1], ("t", "t"), ("none",), ())),
        "indexes": st.sampled_from(((0,), (1,), (2,), (0, 1, 2), (0, 0), (7,), ())),
        "acks": st.sampled_from((-1, 0, 1, 2)),
        "producer_id": st.sampled_from((-1, 0, 7)),
    }
)


topics = st.sampled_from(TOPICS)
indexes = st.sampled_from((0, 0, 1, 2))
changes: st.SearchStrategy[Change] = st.one_of(
    st.tuples(st.just("create"), topics),
    st.tuples(st.just("delete"), topics),
    st.tuples(st.just("configure"), topics, st.sampled_from(TOPIC_CHANGES)).map(
        lambda found: (*found[:2], *found[2])
    ),
    st.sampled_from(BROKER_CHANGES).map(lambda found: ("configure_brokers", *found)),
    st.tuples(st.just("lead"), topics, indexes, st.sampled_from((1, 2, -1))),
    st.tuples(st.just("keep_in_sync"), topics, indexes, st.sampled_from(((1,), (1, 2)))),
    st.tuples(st.just("assign"), topics, indexes, st.sampled_from(((1,), (1, 2)))),
    st.tuples(st.just("delete_records"), topics, indexes),
    st.tuples(st.just("set_denied"), topics, st.booleans()),
    st.tuples(
        st.just("set_quota"),
        st.sampled_from(("producer_byte_rate", "producer_ids_rate", "request_percentage")),
        st.sampled_from((1.0, 1_000.0, 1_000_000.0, None)),
        st.booleans(),
    ),
    st.tuples(st.just("add_error_rule"), st.sampled_from((1, 2, None))),
    st.just(("remove_rules",)),
    st.tuples(st.just("keep_journal"), st.booleans()),
    st.just(("follow_journal",)),
    st.tuples(st.just("audit"), st.booleans()),
    st.tuples(st.just("end_session"), st.sampled_from((0, 1)), st.sampled_from((0, 1, 500))),
    st.tuples(st.just("advance"), st.sampled_from((1, 500, 5_000, 3_600_000))),
    st.just(("reset",)),
)


@st.composite
def plans(draw: st.DrawFn) -> list[Produce | Change]:
    """Requests of one shape, with changes and other requests in between."""
    usual = draw(usual_produces)
    steps: list[Produce | Change] = [("keep_journal", draw(st.booleans()))]
    steps += [usual] * draw(st.sampled_from((1, 3)))
    for _ in range(draw(st.integers(1, 8))):
        what = draw(st.integers(0, 6))
        if what <= 2:
            steps.append(draw(changes))
        if what == 3:
            steps.append(replace(usual, **draw(others)))
        if what == 4:
            steps.append(replace(usual, indexes=draw(st.sampled_from(((0,), (1,), (2,))))))
        if what == 5:
            # Requests of two versions may have the same bytes behind the version.
            alike = [version for version in VERSIONS if (version >= 9) == (usual.version >= 9)]
            other = replace(usual, version=draw(st.sampled_from(alike)))
            steps += [replace(other, indexes=(0, 1)), other]
        steps.append(replace(usual, **draw(variations)))
    return steps
