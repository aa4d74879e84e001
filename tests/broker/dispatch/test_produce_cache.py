"""The cached path leaves the same behind as the ordinary one, whatever happens in between."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.cluster.cluster import Cluster
from broker.dispatch import frame_run, produce_cache
from broker.dispatch.accounted_run import AccountedRun
from broker.dispatch.produce_cache import TARGETS_MAX, ProduceCache
from broker.dispatch.shared_run import SharedRun
from broker.produce import frame_layout, request_shape
from broker.produce.batch_layout import BatchLayout
from broker.produce.fitting_batches import (
    _fitting_one_by_one,
    _start_at,
    store_fitting,
)
from broker.produce.request_run import RequestRun
from tests.broker.dispatch.produce_runs import (
    PARTITIONS,
    TOPICS,
    Change,
    Produce,
    Run,
    assert_needed,
    counted_calls,
    hits_of,
    ordinary_path,
    run,
)
from tests.examples import examples
from tests.simulation.patches import edit

TIMESTAMP_AFTER_KEY = "message.timestamp.after.max.ms"
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
    # After three reads, a read of a single request is tried at once.
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


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(plans())
def test_the_cached_path_leaves_the_same_behind(steps: list[Produce | Change]) -> None:
    cached = run(steps)
    with ordinary_path():
        ordinary = run(steps)

    for name, value in ordinary.items():
        assert cached[name] == value, name


WARM = Produce(count=3)
"""The second request of a connection is learnt, the third is responded to by the cache."""
RUNS = (Produce(count=2), Produce(count=2))
"""After them a read of a single request is tried at once."""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("acks", [-1, 0, 1])
@pytest.mark.parametrize("producer_id", [-1, 7])
def test_every_version_is_cached(version: int, acks: int, producer_id: int) -> None:
    produce = Produce(
        topics=TOPICS, indexes=(1, 0), version=version, acks=acks, producer_id=producer_id, count=5
    )

    assert hits_of([produce]) == 3


@pytest.mark.parametrize(
    "change",
    [("keep_journal", True), ("audit", True), ("create", "t3"), ("advance", 1000)],
)
def test_requests_stay_cached(change: Change) -> None:
    assert hits_of([WARM, change, Produce(count=5)]) == 1 + 5


@pytest.mark.parametrize("key", ["producer_byte_rate", "request_percentage"])
def test_after_a_change_of_quotas_the_second_request_is_cached(key: str) -> None:
    assert hits_of([WARM, ("set_quota", key, 1e9, False), Produce(count=5)]) == 1 + 4


@pytest.mark.parametrize(("first", "second"), [(8, 3), (3, 8), (6, 7), (11, 12), (9, 12)])
def test_requests_of_two_versions_are_cached_each(first: int, second: int) -> None:
    """They have the same bytes behind the version, but other responses and rules."""
    one, other = Produce(version=first, count=3), Produce(version=second, count=3)
    steps = [one, replace(other, indexes=(0, 1)), other, one, other]

    # The ordinary path takes the first two requests, and the first one after each change.
    assert hits_of(steps) == 1 + 2 * 4


def test_known_producer_ids_are_cached_under_their_quota() -> None:
    produce = Produce(producer_id=7, count=5)

    # The first request after the quota was set is the first that the quota sees.
    assert hits_of([produce, ("set_quota", "producer_ids_rate", 100.0, False), produce]) == 3 + 4


def test_a_connection_that_alternates_is_cached_after_a_while() -> None:
    steps = [Produce(indexes=(index,)) for _ in range(20) for index in (0, 1)]
    steps += [Produce(topics=(TOPICS[1],), indexes=(0, 1))] * 10

    assert hits_of(steps) > 30


@pytest.mark.parametrize(
    "unusual",
    [
        Produce(gap=-1, producer_id=7),
        Produce(later_ms=4_000_000),
        Produce(damage=(17, ">I", 1, False)),
        Produce(value=b"x" * 40_000),
        Produce(indexes=(0, 0)),
        Produce(indexes=(9,)),
        Produce(indexes=(-1,)),
        Produce(acks=2),
    ],
)
def test_unusual_requests_take_the_ordinary_path(unusual: Produce) -> None:
    warm = replace(WARM, producer_id=unusual.producer_id)

    assert hits_of([warm, unusual]) == 1


def test_learning_pauses_while_no_request_has_a_known_shape() -> None:
    steps = [Produce(client_id=f"client-{number}") for number in range(200)]

    with counted_calls(produce_cache, "shape_of") as learnt:
        run(steps)

    assert 1 <= len(learnt) <= 10


def test_the_shapes_of_a_connection_have_a_bound() -> None:
    made = Run()
    for index in range(3):
        made.do(Produce(indexes=(index,), topics=TOPICS, count=50))
    for number in range(100):
        for _ in range(3):
            made.do(Produce(client_id=f"client-{number}", indexes=(0, 1), count=3))

    cache = made.connections[0]._produce_cache
    assert cache is not None
    assert sum(len(shape.targets) for shape in cache._shapes.values()) <= TARGETS_MAX


def test_a_connection_without_shapes_is_cached_for_the_next_topic() -> None:
    assert hits_of([WARM, ("delete", "t"), ("create", "t"), WARM]) >= 2


STALE: tuple[tuple[Any, Change], ...] = (
    (Cluster._begin, ("reset",)),
    (Cluster.delete_topic, ("delete", "t")),
    (Cluster.alter_topic_config, ("configure", "t", "max.message.bytes", "40")),
    (Cluster.alter_topic_config, ("configure_brokers", None, "message.max.bytes", "40")),
    (Cluster.alter_topic_config, ("configure_brokers", None, "broker.api.versions", "Produce=3-8")),
    (Cluster.set_leader, ("lead", "t", 0, -1)),
    (Cluster.set_isr, ("keep_in_sync", "t", 0, (1,))),
)


@pytest.mark.parametrize(("function", "change"), STALE)
def test_a_cache_that_misses_a_change_is_found(function: Any, change: Change) -> None:
    steps: list[Produce | Change] = [
        ("configure", "t", "min.insync.replicas", "2"),
        WARM,
        change,
        Produce(),
    ]
    assert_needed(steps, function, "self.produce_version += 1", "pass")


def test_a_reassignment_that_waits_asks_for_more_replicas_in_sync() -> None:
    steps: list[Produce | Change] = [
        ("keep_in_sync", "t", 0, (1,)),
        ("assign", "t", 0, (1,)),
        ("configure", "t", "min.insync.replicas", "2"),
        WARM,
        ("assign", "t", 0, (1, 2)),
        Produce(),
    ]
    assert_needed(steps, Cluster.assign, "self.produce_version += 1", "pass")


OTHER = Produce(topics=(TOPICS[1],), count=3)


def test_a_shape_from_before_a_change_is_not_used_behind_one_that_was_learnt_since() -> None:
    """While there are fault rules, requests are learnt without a look at the cache."""
    steps: list[Produce | Change] = [
        WARM,
        ("add_error_rule", None),
        ("lead", "t", 0, -1),
        *[OTHER] * 5,
        ("remove_rules",),
        OTHER,
        WARM,
    ]
    assert hits_of(steps) > 0
    assert_needed(steps, ProduceCache.learn, "!= cluster.produce_version", "is None")


def test_another_partition_of_the_topic_is_cached_at_once() -> None:
    steps = [WARM, *(Produce(indexes=(index,)) for index in (1, 0, 1, 1, 0))]

    assert hits_of(steps) == 1 + 5


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("acks", [-1, 1])
def test_another_partition_is_cached_in_every_version(version: int, acks: int) -> None:
    warm = replace(WARM, version=version, acks=acks, topics=(TOPICS[1],))

    assert hits_of([warm, replace(warm, indexes=(1,))]) == 1 + 3


@pytest.mark.parametrize(
    ("right", "wrong", "change"),
    [
        ("partition.leader_id != broker_id", "False", ("lead", "t", 1, 2)),
        ("topic.has_too_few_in_sync(partition)", "False", ("keep_in_sync", "t", 1, (1,))),
    ],
)
def test_another_partition_that_takes_no_batches_is_not_cached(
    right: str, wrong: str, change: Change
) -> None:
    steps: list[Produce | Change] = [
        ("configure", "t", "min.insync.replicas", "2"),
        change,
        WARM,
        Produce(indexes=(1,)),
    ]
    assert hits_of(steps) == 1
    assert_needed(steps, request_shape.appendable_partition, right, wrong)


LIVE: tuple[tuple[str, str, Sequence[Produce | Change]], ...] = (
    ("services.faults.is_enabled", "False", [WARM, ("add_error_rule", None), Produce()]),
    ("session.limited_from_ms <= now_ms", "False", [WARM, ("end_session", 0, 0), Produce()]),
    (
        "journal.is_enabled or services",
        "services",
        [WARM, ("keep_journal", True), ("follow_journal",), Produce(cut=9)],
    ),
    (
        "is_enabled or services.acknowledgements.is_enabled",
        "is_enabled",
        [WARM, ("audit", True), Produce()],
    ),
    (
        "quotas.is_enabled or journal",
        "journal",
        [("set_quota", "producer_byte_rate", 70.0, False), *[Produce(cut=9)] * 6],
    ),
    (
        "self._is_known_producer(session)",
        "None",
        [
            ("set_quota", "producer_ids_rate", 1.0, False),
            replace(WARM, producer_id=7),
            *(Produce(producer_id=number) for number in range(20)),
        ],
    ),
)


@pytest.mark.parametrize(("right", "wrong", "steps"), LIVE)
def test_a_cache_without_a_check_is_found(
    right: str, wrong: str, steps: Sequence[Produce | Change]
) -> None:
    assert_needed(steps, ProduceCache.respond, right, wrong)


START_CHECK = "if batch_start != known_start:\n                    return None"
BATCHES: tuple[tuple[Any, str, str, Produce], ...] = (
    *(
        (_fitting_one_by_one, START_CHECK, "pass", Produce(damage=damage))
        for damage in ((0, ">q", 1, False), (8, ">i", 90, False))
    ),
    *(
        (_fitting_one_by_one, *check)
        for check in (
            ("crc32c(covered) != crc", "False", Produce(damage=(17, ">I", 1, False))),
            ("magic != _MAGIC", "False", Produce(damage=(16, ">b", 1, True))),
            ("attributes > attributes_max", "False", Produce(damage=(21, ">h", 0x20, True))),
            ("attributes > attributes_max", "False", Produce(damage=(21, ">h", -1, True))),
            ("count != last_delta + 1", "False", Produce(damage=(23, ">i", 3, True))),
            ("found_piece != piece", "False", Produce(indexes=(0, 2))),
            ("max_timestamp > latest_ms", "False", Produce(later_ms=4_000_000)),
            ("sequence < 0", "False", Produce(producer_id=8, damage=(53, ">i", -1, True))),
            ("decision is not APPEND", "False", Produce(producer_id=7, gap=1)),
            ("frame[position:end] != shape.suffix", "False", Produce(rest=b"rest")),
        )
    ),
    (_start_at, "<= size <= shape.batch_bytes_max", "<= size", Produce(value=b"x" * 400)),
)


@pytest.mark.parametrize(("function", "right", "wrong", "unusual"), BATCHES)
def test_a_cache_that_takes_any_batch_is_found(
    function: Any, right: str, wrong: str, unusual: Produce
) -> None:
    several = () if len(unusual.indexes) == 1 else (0, 1)
    warm = replace(WARM, producer_id=min(unusual.producer_id, 7), indexes=several or (0,))
    steps: list[Produce | Change] = [("configure", "t", "max.message.bytes", "200"), warm, unusual]
    assert_needed(steps, function, right, wrong)


OF_TWO = Produce(indexes=(0, 1), producer_id=7, count=5)
"""The last of them has a layout."""
NEXT = replace(OF_TWO, count=1)

LAYOUT_CHECKS: tuple[tuple[str, str, Sequence[Produce | Change]], ...] = (
    ("parts[::3] != self._constants", "False", [replace(NEXT, damage=(0, ">q", 1, False))]),
    ("parts[::3] != self._constants", "False", [replace(NEXT, damage=(8, ">i", 90, False))]),
    ("parts[::3] != self._constants", "False", [replace(NEXT, damage=(16, ">b", 1, True))]),
    (
        "parts[::3] != self._constants",
        "False",
        [
            replace(OF_TWO, producer_id=-1),
            replace(NEXT, producer_id=-1, indexes=(0, 2)),
        ],
    ),
    ("fields[::7] != self._attributes", "False", [replace(NEXT, damage=(21, ">h", 0x20, True))]),
    ("fields[1::7] != self._last_deltas", "False", [replace(NEXT, damage=(23, ">i", 3, True))]),
    ("fields[6::7] != self._counts", "False", [replace(NEXT, damage=(57, ">i", 0, True))]),
    ("max(max_timestamps) > latest_ms", "False", [replace(NEXT, later_ms=4_000_000)]),
    ("tuple(map(crc32c, covered)) != crcs", "False", [replace(NEXT, damage=(17, ">I", 1, False))]),
    ("not are_next(produced)", "False", [replace(NEXT, gap=1)]),
    ("sequences == self._next_sequences", "True", [replace(NEXT, gap=1)]),
    # A new epoch has to begin with the sequence number 0, and a new producer may begin with any.
    ("fields[4::7] != self._epochs", "False", [replace(NEXT, producer_epoch=1, gap=5)]),
    ("fields[3::7] != self._ids", "False", [replace(NEXT, producer_id=8, gap=5)]),
    # Another connection of the producer was faster, and this request is a duplicate.
    (
        "base_offsets == latest_end_offsets",
        "True",
        [replace(NEXT, connection=1), replace(NEXT, gap=-1)],
    ),
    # A request of another size was appended last, and this one is a duplicate.
    (
        "self._end_offsets is latest_end_offsets",
        "True",
        [replace(OF_TWO, value=b"another", count=5), NEXT, replace(NEXT, value=b"another", gap=-1)],
    ),
    (
        "is_known_producer(producer_id, now_ms)",
        "True",
        [
            ("set_quota", "producer_ids_rate", 1.0, False),
            *[OF_TWO] * 2,
            ("advance", 7_200_000),
            *(replace(NEXT, connection=1, producer_id=number) for number in range(20, 40)),
            NEXT,
        ],
    ),
)


@pytest.mark.parametrize(("right", "wrong", "steps"), LAYOUT_CHECKS)
def test_a_layout_without_a_check_is_found(
    right: str, wrong: str, steps: Sequence[Produce | Change]
) -> None:
    """After five requests of one size the next one is compared with the layout of these."""
    assert_needed([OF_TWO, *steps], BatchLayout.fitting_batches, right, wrong)


def test_requests_for_several_partitions_in_one_read_are_cached() -> None:
    assert hits_of([OF_TWO, replace(OF_TWO, cut=700), OF_TWO]) == 13


def test_a_mute_between_requests_for_several_partitions_is_kept() -> None:
    steps: list[Produce | Change] = [
        ("set_quota", "producer_byte_rate", 500.0, False),
        *[OF_TWO] * 8,
        ("advance", 3_600_000),
    ]
    check = "not charge.allows(len(data), now_ms)"
    assert_needed(steps, ProduceCache._respond_to_frames, check, "False")


BELOW: Change = ("set_quota", "producer_byte_rate", 1e6, False)
TIMED: Change = ("set_quota", "request_percentage", 1e6, False)
REFUSED = replace(OF_TWO, connection=2, producer_id=9)
CUT = replace(OF_TWO, cut=100)
"""The read of its first request ends within it."""
NOT_TAKEN: tuple[tuple[str, Sequence[Produce | Change]], ...] = (
    ("shape.produce_version != cluster.produce_version", [("lead", "t", 1, 2)]),
    ("peer.session.limited_from_ms <= now_ms", [("end_session", 0, 0)]),
    ("services.acknowledgements.is_enabled", [("audit", True)]),
    ("services.faults.is_enabled", [("add_error_rule", None)]),
    (
        "is_recorded and len(data) > journal.run_bytes_max",
        [("keep_journal", True), ("follow_journal",)],
    ),
)
FRAME_CHECKS: tuple[tuple[Any, str, str, Sequence[Produce | Change]], ...] = (
    *((ProduceCache._respond_to_frames, right, "False", changes) for right, changes in NOT_TAKEN),
    (
        ProduceCache._respond_to_frames,
        "if end and is_recorded",
        "if False",
        [("keep_journal", True)],
    ),
    (ProduceCache._respond_to_frames, "if charge is not None", "if False", [BELOW]),
    (
        ProduceCache._respond_to_frames,
        "charge.record_time(services.now_ns() - started_ns, now_ms)",
        "pass",
        [TIMED],
    ),
    (
        ProduceCache._respond_to_frames,
        "len(responses) * FRAME_SIZE_BYTES",
        "0",
        [BELOW],
    ),
    (
        ProduceCache._is_known_producer,
        "not self._services.cluster.quotas.clients.producer_ids_rate.is_enabled",
        "True",
        [
            ("set_quota", "producer_ids_rate", 2.0, False),
            *[OF_TWO] * 3,
            replace(OF_TWO, connection=1, producer_id=9),
            *(replace(OF_TWO, producer_id=number) for number in (10, 11)),
        ],
    ),
    (
        frame_run.append_frames,
        "end > data_end",
        "False",
        [replace(OF_TWO, count=3, cut=500)],
    ),
    (
        frame_run.append_frames,
        "data[start : start + API_BYTES] != api",
        "False",
        [*[replace(OF_TWO, version=5)] * 2, replace(OF_TWO, version=3, count=1)],
    ),
)


@pytest.mark.parametrize(("function", "right", "wrong", "steps"), FRAME_CHECKS)
def test_requests_for_several_partitions_without_a_check_are_found(
    function: Any, right: str, wrong: str, steps: Sequence[Produce | Change]
) -> None:
    assert_needed([*[OF_TWO] * 3, *steps, *[OF_TWO] * 3], function, right, wrong)


def test_requests_for_several_partitions_without_responses_are_charged() -> None:
    produce = replace(OF_TWO, acks=0)
    steps: list[Produce | Change] = [*[produce] * 3, BELOW, *[produce] * 3]
    assert_needed(steps, ProduceCache._respond_to_frames, "not shape.acks", "False")


def test_the_time_of_requests_without_responses_is_exempt() -> None:
    produce = replace(CUT, acks=0)
    steps: list[Produce | Change] = [*[produce] * 3, TIMED]
    steps += [*[replace(OF_TWO, connection=1)] * 2, *[produce] * 3]
    right = "charge.time_rate is not None and not shape.acks"
    assert_needed(steps, ProduceCache.respond, right, "False")


SINGLE_CHECKS: tuple[tuple[str, str, Sequence[Produce | Change]], ...] = (
    (
        "services.acknowledgements.is_enabled\n            or",
        "False or",
        [("keep_journal", True), ("audit", True)],
    ),
    (
        "journal.is_enabled and end - start",
        "False and end - start",
        [("keep_journal", True), ("follow_journal",)],
    ),
    (
        "not charge.allows(end - start, now_ms)",
        "False",
        [("set_quota", "producer_byte_rate", 400.0, False), OF_TWO, OF_TWO],
    ),
    ("if charge is not None", "if False", [BELOW]),
    ("    if journal.is_enabled:", "    if False:", [("keep_journal", True)]),
    ("charge.record_time(services.now_ns() - started_ns, now_ms)", "pass", [TIMED]),
)


@pytest.mark.parametrize(("right", "wrong", "steps"), SINGLE_CHECKS)
def test_a_request_that_comes_in_two_reads_without_a_check_is_found(
    right: str, wrong: str, steps: Sequence[Produce | Change]
) -> None:
    assert_needed([*[OF_TWO] * 3, *steps, *[CUT] * 3], ProduceCache.respond, right, wrong)


RUN_CHECKS: tuple[tuple[Any, str, str, Sequence[Produce | Change]], ...] = (
    (
        ProduceCache.respond_to_run,
        "services.faults.is_enabled",
        "False",
        [("add_error_rule", None)],
    ),
    (
        ProduceCache.respond_to_run,
        "peer.session.limited_from_ms <= now_ms",
        "False",
        [("end_session", 0, 0)],
    ),
    (
        AccountedRun.append,
        "len(data) > journal.run_bytes_max",
        "False",
        [("keep_journal", True), ("follow_journal",)],
    ),
    (
        ProduceCache._accounted_run,
        "not is_recorded and producer_ids is None",
        "True",
        [("keep_journal", True)],
    ),
    (
        ProduceCache.respond_to_run,
        "not self._charged.charge.allows(len(data) - FRAME_SIZE_BYTES, now_ms)",
        "False",
        [("set_quota", "producer_byte_rate", 200.0, False), WARM, *[Produce(count=5)] * 3],
    ),
    (
        ProduceCache.respond_to_run,
        "services.acknowledgements.is_enabled",
        "False",
        [("audit", True)],
    ),
    (
        ProduceCache.respond_to_run,
        "shape.produce_version != cluster.produce_version",
        "False",
        [("lead", "t", 0, -1)],
    ),
    (
        ProduceCache.respond_to_run,
        "cluster.limits_producer_ids",
        "False",
        [
            ("configure_brokers", None, "broker.max.producer.ids", "1"),
            replace(WARM, producer_id=5),
            *(Produce(producer_id=number) for number in (6, 7, 8)),
        ],
    ),
    (
        RequestRun.append,
        "self.can_free",
        "False",
        [("configure", "t", "retention.bytes", "100"), WARM],
    ),
    (
        RequestRun.append,
        "cluster.log_bytes + len(buffer) > cluster.log_bytes_max",
        "False",
        [("configure_brokers", None, "log.memory.max.bytes", "500"), WARM],
    ),
)


@pytest.mark.parametrize(("function", "right", "wrong", "steps"), RUN_CHECKS)
def test_a_run_without_a_check_is_found(
    function: Any, right: str, wrong: str, steps: Sequence[Produce | Change]
) -> None:
    steps = [WARM, *steps, Produce(count=5)]
    assert_needed(steps, function, right, wrong)


RECORDED: tuple[Produce | Change, ...] = (("keep_journal", True), *[Produce()] * 3)
"""After them a read of a single request is tried at once, and recorded."""
ACCOUNTED_CHECKS: tuple[tuple[str, Sequence[Produce | Change]], ...] = (
    ("run.produce_version != cluster.produce_version", [("lead", "t", 0, -1)]),
    ("run.acknowledgements.is_enabled", [("audit", True)]),
    ("run.faults.is_enabled", [("add_error_rule", None)]),
)
ONE_CHECKS: tuple[tuple[Any, str, Sequence[Produce | Change]], ...] = (
    (SharedRun.respond_at_once, "self.faults.is_enabled", [("add_error_rule", None)]),
    (
        ProduceCache.respond_at_once,
        "self._session.limited_from_ms <= now_ms",
        [("end_session", 0, 5), *[Produce()] * 3, ("advance", 5)],
    ),
    (
        ProduceCache.responder,
        "self._session.limited_from_ms != NEVER_MS",
        [("end_session", 0, 5), *[Produce()] * 3, ("advance", 5)],
    ),
    (SharedRun.respond_at_once, "self.journal.is_enabled", [("keep_journal", True)]),
    (
        AccountedRun.respond_at_once,
        "len(data) > journal.run_bytes_max",
        [*RECORDED, ("follow_journal",)],
    ),
    *(
        (AccountedRun.respond_at_once, check, [*RECORDED, *steps])
        for check, steps in ACCOUNTED_CHECKS
    ),
    (SharedRun.respond_at_once, "self.acknowledgements.is_enabled", [("audit", True)]),
    (
        SharedRun.respond_at_once,
        "self.produce_version != cluster.produce_version",
        [("set_quota", "producer_byte_rate", 1.0, False)],
    ),
    (
        SharedRun.respond_at_once,
        "self.produce_version != cluster.produce_version",
        [("lead", "t", 0, -1)],
    ),
    (
        RequestRun.respond_to_one,
        "cluster.log_bytes + len(data) > cluster.log_bytes_max",
        [("configure_brokers", None, "log.memory.max.bytes", "800"), WARM, *RUNS],
    ),
    (RequestRun.respond_to_one, "log.log_start_offset != self._start_offset", []),
)


@pytest.mark.parametrize(("function", "check", "steps"), ONE_CHECKS)
def test_a_read_of_one_request_without_a_check_is_found(
    function: Any, check: str, steps: Sequence[Produce | Change]
) -> None:
    steps = [WARM, *RUNS, ("delete_records", "t", 0), *steps, *[Produce()] * 5]
    assert_needed(steps, function, check, "False")


PIECE_CHECKS: tuple[tuple[Any, str, str, Produce], ...] = (
    (RequestRun._store, "found_piece != piece", "False", Produce(indexes=(1,))),
    *(
        (function, check, "False", Produce(damage=damage))
        for function, check in (
            (RequestRun._store, "found_piece != piece"),
            (RequestRun.respond_to_one, "found_behind != behind"),
        )
        for damage in ((0, ">q", 1, False), (8, ">i", 70, False))
    ),
)
BATCH_CHECKS: tuple[tuple[str, str, Produce], ...] = (
    ("magic != _MAGIC", "False", Produce(damage=(16, ">b", 1, True))),
    ("crc32c(covered) != crc", "False", Produce(damage=(17, ">I", 1, False))),
    ("attributes > ", "None is ", Produce(damage=(21, ">h", 0x20, True))),
    ("attributes > ", "None is ", Produce(damage=(21, ">h", -1, True))),
    ("count != last_delta + 1", "False", Produce(damage=(23, ">i", 3, True))),
    ("sequence < 0", "False", Produce(producer_id=8, damage=(53, ">i", -1, True))),
    ("not self._is_recorded(", "None is self._is_recorded(", Produce(producer_id=7, gap=1)),
)
RUN_BATCHES: tuple[tuple[Any, str, str, Produce], ...] = (
    *PIECE_CHECKS,
    *((RequestRun._store, *check) for check in BATCH_CHECKS),
    *((RequestRun.respond_to_one, *check) for check in BATCH_CHECKS),
    (RequestRun._is_recorded, "is not APPEND", "is None", Produce(producer_id=7, gap=1)),
    (RequestRun._store, "max_timestamp > latest_ms", "False", Produce(later_ms=4_000_000)),
    (
        RequestRun.respond_to_one,
        "max_timestamp > now_ms + self._timestamp_after_max_ms",
        "False",
        Produce(later_ms=4_000_000),
    ),
    (
        frame_layout.frame_layout,
        "<= batch_size <= target.batch_bytes_max",
        "<= batch_size",
        Produce(value=b"x" * 400),
    ),
)


@pytest.mark.parametrize(("function", "right", "wrong", "unusual"), RUN_BATCHES)
def test_a_run_that_takes_any_batch_is_found(
    function: Any, right: str, wrong: str, unusual: Produce
) -> None:
    usual = Produce(producer_id=min(unusual.producer_id, 7))
    is_one = function is not RequestRun._store
    steps: list[Produce | Change] = [
        ("configure_brokers", None, "broker.api.versions", "Produce=3-9"),
        ("configure", "t", "max.message.bytes", "200"),
        replace(usual, count=3),
        *[replace(usual, count=2)] * 2,
        unusual if is_one else ("send_together", usual, unusual),
    ]
    assert_needed(steps, function, right, wrong)


OTHER_FRAMES: tuple[tuple[Any, str, Callable[[Run], bytes]], ...] = (
    # A tagged field that is not there.
    (
        RequestRun._store,
        "buffer[batch_end:frame_end] != suffix",
        lambda made: made._frame(Produce())[:-1] + b"\x01",
    ),
    (
        RequestRun.respond_to_one,
        "not data.endswith(shape.suffix)",
        lambda made: made._frame(Produce())[:-1] + b"\x01",
    ),
    (
        RequestRun._store,
        "found_start != start",
        lambda made: made._frame(Produce(version=10)),
    ),
    (
        RequestRun.respond_to_one,
        "found_start != start",
        lambda made: made._frame(Produce(version=10)),
    ),
)


@pytest.mark.parametrize(("function", "check", "other_frame"), OTHER_FRAMES)
def test_a_run_ends_before_a_frame_of_another_kind(
    function: Any, check: str, other_frame: Callable[[Run], bytes]
) -> None:
    is_behind = function is RequestRun._store

    def written() -> list[Any]:
        made = Run()
        made.do(("configure_brokers", None, "broker.api.versions", "Produce=3-9"))
        for step in (WARM, *RUNS):
            made.do(step)
        data = (made._frame(Produce()) if is_behind else b"") + other_frame(made)
        made._receive(0, data)
        return made.written

    with ordinary_path():
        ordinary = written()

    assert written() == ordinary
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, function, check, "False")
        assert written() != ordinary


@pytest.mark.parametrize(
    ("function", "check", "produces", "counts_found"),
    [
        (RequestRun.append, "if log.waiters", [Produce(count=3)], [10]),
        (RequestRun.respond_to_one, "if log.waiters", [Produce()] * 3, [8, 9, 10]),
    ],
)
def test_a_run_wakes_who_waits(
    function: Any, check: str, produces: list[Produce], counts_found: list[int]
) -> None:
    def batches_when_woken() -> list[int]:
        made = Run()
        for step in (WARM, *RUNS):
            made.do(step)
        topic = made.cluster.topics.get("t")
        assert topic is not None
        log, counts = topic.partitions[0].log, list[int]()
        log.wait(lambda _now_ms: counts.append(log.batch_count))
        for produce in produces:
            made.do(produce)
        return counts

    assert batches_when_woken() == counts_found
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, function, check, "if False")
        assert batches_when_woken() == []


ELSEWHERE = Produce(indexes=(1,))
ELSEWHERE_CHECKS: tuple[tuple[Any, str, str, Sequence[Produce | Change]], ...] = (
    (RequestRun.respond_to_one, "index != self._index and", "False and", [ELSEWHERE]),
    (
        RequestRun.respond_to_one,
        "found_before != before",
        "False",
        [Produce(), replace(ELSEWHERE, acks=0)],
    ),
    (RequestRun.respond_to_one, "found_behind != behind", "False", []),
    (
        RequestRun.respond_to_one,
        "not self._go_to(index)",
        "False",
        [replace(ELSEWHERE, indexes=(PARTITIONS,))],
    ),
    (
        RequestRun.append,
        "if self._index != self._own_index and",
        "if False and",
        [ELSEWHERE, *RUNS],
    ),
    (
        SharedRun.respond_at_once,
        "self.journal.is_enabled",
        "False",
        [("keep_journal", True), ELSEWHERE],
    ),
    (
        AccountedRun.respond_at_once,
        "run.can_free",
        "False",
        [
            ("keep_journal", True),
            ("configure", "t", "retention.bytes", "100"),
            WARM,
            *[ELSEWHERE] * 3,
        ],
    ),
    (
        SharedRun.respond_at_once,
        "self.can_free",
        "False",
        [("configure", "t", "retention.bytes", "100"), WARM, *[ELSEWHERE] * 3],
    ),
)


@pytest.mark.parametrize(("function", "right", "wrong", "steps"), ELSEWHERE_CHECKS)
def test_a_request_for_another_partition_without_a_check_is_found(
    function: Any, right: str, wrong: str, steps: Sequence[Produce | Change]
) -> None:
    damaged = replace(ELSEWHERE, damage=(8, ">i", 70, False))
    assert_needed([WARM, *RUNS, *steps, damaged], function, right, wrong)


def test_requests_for_random_partitions_need_neither_loop_nor_shape() -> None:
    produces = [Produce(indexes=(number % 5 % 2,)) for number in range(1, 30)]
    assert hits_of([WARM, *produces]) == 1 + len(produces)
    with counted_calls(ProduceCache, "respond") as by_shape:
        run([WARM, *produces])

    assert len(by_shape) <= WARM.count


def test_a_request_for_another_partition_wakes_who_waits_there() -> None:
    def batches_when_woken() -> list[int]:
        made = Run()
        for step in (WARM, *RUNS, ELSEWHERE, Produce()):
            made.do(step)
        topic = made.cluster.topics.get("t")
        assert topic is not None
        log, counts = topic.partitions[1].log, list[int]()
        log.wait(lambda _now_ms: counts.append(log.batch_count))
        made.do(ELSEWHERE)
        return counts

    assert batches_when_woken() == [2]
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, RequestRun.respond_to_one, "if log.waiters:", "if False:")
        assert batches_when_woken() == []


def test_requests_of_one_read_are_one_run() -> None:
    produces = [Produce(count=50), Produce(count=50, producer_id=7), Produce(count=3, records=2)]
    with counted_calls(RequestRun, "append") as runs:
        assert hits_of([WARM, *produces]) == 1 + 50 + 50 + 3

    assert len(runs) == 3


@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        (store_fitting, ("append_to_logs(", "append_to_logs(None, ")),
        (RequestRun._store, ("count != last", "count.none != last")),
        (RequestRun.respond_to_one, ("count != last", "count.none != last")),
    ],
)
def test_an_error_in_the_cached_path_closes_only_its_connection(
    function: Any, wrong: tuple[str, str]
) -> None:
    made = Run()
    for step in (WARM, *RUNS):
        made.do(step)
    with pytest.MonkeyPatch.context() as patch:
        if function is not RequestRun.respond_to_one:
            patch.setattr(SharedRun, "respond_at_once", lambda *_arguments: None)
        if function is store_fitting:
            patch.setattr(ProduceCache, "respond_to_run", lambda *_arguments: 0)
        edit(patch, function, *wrong)
        made.do(Produce())

    assert len(made.bugs) == 1
    assert "internal error in PRODUCE v9" in str(made.written[-1])
    made.do(WARM)
    assert len(made.bugs) == 1
