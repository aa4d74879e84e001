"""A replayed Produce request leaves the same behind as on the ordinary path."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from struct import pack
from typing import Any

import pytest
from hypothesis import given, settings

from broker.dispatch import produce_replay
from broker.dispatch.produce_replay import ProduceReplay
from broker.journal.lines import Entry
from broker.responses import NOTHING
from tests.batches import make_batch
from tests.broker.connection_driver import NOW_MS
from tests.broker.dispatch.produce_plans import plans
from tests.broker.dispatch.produce_runs import (
    TOPICS,
    Change,
    Produce,
    Run,
    counted_calls,
    run,
    streams,
)
from tests.examples import examples
from tests.simulation.patches import edit

Steps = Sequence[Produce | Change]
USUAL = Produce(count=3)
MANY = Produce(indexes=(0, 1), producer_id=7, count=3)
WARM: Steps = (USUAL, USUAL)


@contextmanager
def ordinary_path() -> Iterator[None]:
    """Let the ordinary path handle all requests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProduceReplay, "respond", lambda *_arguments: (0, None))
        yield


def outcome(steps: Steps) -> dict[str, Any]:
    """Return what the steps leave behind, whatever a read is split into."""
    found = run(steps)
    return {**found, "written": streams(found["written"])}


def replayed(steps: Steps) -> int:
    """Return how many requests are replayed, after a comparison with the ordinary path."""
    with counted_calls(produce_replay, "accept_batches") as handled:
        found = outcome(steps)
    with ordinary_path():
        assert outcome(steps) == found
    return len(handled)


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(plans())
def test_it_leaves_the_same_behind(steps: list[Produce | Change]) -> None:
    found = outcome(steps)
    with ordinary_path():
        expected = outcome(steps)

    for name, value in expected.items():
        assert found[name] == value, name


@pytest.mark.parametrize("version", range(9, 14))
@pytest.mark.parametrize("acks", [-1, 0, 1])
@pytest.mark.parametrize("usual", [USUAL, MANY])
def test_requests_of_each_flexible_version_are_replayed(
    version: int, acks: int, usual: Produce
) -> None:
    produce = replace(usual, version=version, acks=acks)
    # The second request of a connection is learnt; the third is in the same read.
    assert replayed([produce, produce, produce]) == 6


@pytest.mark.parametrize(
    "change",
    [
        ("keep_journal", True),
        ("follow_journal",),
        ("audit", True),
        ("advance", 1000),
        ("set_quota", "producer_byte_rate", 1e9, False),
    ],
)
def test_what_is_noted_or_charged_is_replayed_too(change: Change) -> None:
    assert replayed([change, *[USUAL] * 3]) == 6


@pytest.mark.parametrize("indexes", [(0, 1), (1, 0)])
def test_requests_for_other_partitions_of_a_topic_are_replayed(indexes: tuple[int, ...]) -> None:
    others = [replace(USUAL, indexes=(index,)) for index in indexes]
    assert replayed([*WARM, *others]) == 9


RESPOND, READ_PARTS = ProduceReplay.respond, produce_replay._read_parts
UNUSUAL: tuple[tuple[Any, str, Steps], ...] = (
    (
        RESPOND,
        "generation != cluster.generation",
        [("configure_brokers", None, "broker.api.versions", "Produce=3-8")],
    ),
    (RESPOND, "dispatcher.faults.is_enabled", [("add_error_rule", None)]),
    (RESPOND, "session.limited_from_ms <= now_ms", [("end_session", 0, 0)]),
    (
        RESPOND,
        "found_api != api",
        [
            ("configure_brokers", None, "broker.api.versions", "Produce=3-9"),
            *[USUAL] * 4,
            replace(USUAL, version=10),
        ],
    ),
    (
        RESPOND,
        "found_prefix != prefix",
        [replace(USUAL, client_id="olient"), replace(USUAL, acks=0)],
    ),
    (READ_PARTS, "not is_whole", [*[replace(MANY, producer_id=-1)] * 2, Produce(indexes=(0, 0))]),
    (
        RESPOND,
        "is_transactional and (is_plain or count > 1)",
        [
            *[replace(MANY, producer_id=-1)] * 2,
            replace(MANY, producer_id=-1, damage=(21, ">h", 0x10, True), damaged_from=1),
        ],
    ),
    (READ_PARTS, "data[rest_at:end] != _NO_TAGS[1:]", [replace(USUAL, count=1, rest=b"rest")]),
)


LONG = replace(USUAL, value=b"x" * 100)
"""The size of its records has two bytes."""
ROW_AT = 28
"""Where the partition begins in the frame of such a request."""
CHANGED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("0 < high < 0x80 <= low", {"changed": ((ROW_AT + 4, 0x80), (ROW_AT + 5, 0x03))}),
    ("low + (high << 7) == header[1] + _SIZE_OFFSET", {"changed": ((ROW_AT + 5, 0x02),)}),
    ("header[3] == MAGIC", {"changed": ((ROW_AT + 6 + 16, 0x03),)}),
    ("data[records_end:end] == _NO_TAGS", {"rest": b"rest"}),
    ("data[records_end:end] == _NO_TAGS", {"changed": ((-1, 0x01),)}),
    ("data[records_end:end] == _NO_TAGS", {"changed": ((-3, 0x01),)}),
)


@pytest.mark.parametrize(("check", "fields"), CHANGED)
def test_a_row_of_a_replay_without_a_check_is_found(check: str, fields: dict[str, Any]) -> None:
    assert replayed([LONG, LONG, LONG]) == 6
    steps = [LONG, LONG, replace(LONG, count=1, **fields), LONG]
    with ordinary_path():
        expected = outcome(steps)

    assert outcome(steps) == expected
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, ProduceReplay.respond, check, "True")
        assert outcome(steps) != expected


def test_a_header_behind_the_request_is_not_read_as_its_batch() -> None:
    """Two bytes can say that there are no records; then a batch may seem to begin behind them."""
    made = Run()
    start = made._frame(LONG)[4 : 4 + ROW_AT]
    frame = start + bytes(4) + b"\x81\x00" + bytes(3)
    header = pack(">qiibIhiqqqhii", 0, -12, 0, 2, 0, 0, 0, 0, NOW_MS, -1, -1, -1, 1)
    data = len(frame).to_bytes(4) + frame + header[3:]
    steps: Steps = [LONG, LONG, ("_receive", 0, data)]
    with ordinary_path():
        expected = outcome(steps)

    assert outcome(steps) == expected
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, ProduceReplay.respond, "0 < high < 0x80 <= low", "high < 0x80 <= low")
        assert outcome(steps) != expected


@pytest.mark.parametrize("usual", [LONG, USUAL])
def test_a_request_whose_end_has_not_arrived_is_not_replayed(usual: Produce) -> None:
    frame_bytes = ROW_AT + len(make_batch(usual.value)) + (9 if usual is LONG else 8)
    steps = [LONG, LONG, replace(usual, count=1, rest=b"rest", cut=4 + frame_bytes), LONG]
    with ordinary_path():
        expected = outcome(steps)

    assert outcome(steps) == expected
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, ProduceReplay.respond, "or end > len(data)", "")
        assert outcome(steps) != expected


@pytest.mark.parametrize(("function", "check", "steps"), UNUSUAL)
def test_a_replay_without_a_check_is_found(function: Any, check: str, steps: Steps) -> None:
    steps = [*WARM, *steps, USUAL]
    with ordinary_path():
        expected = outcome(steps)

    assert outcome(steps) == expected
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, function, check, "False")
        try:
            found = outcome(steps)
        except Exception:  # noqa: BLE001 - that is found, too
            return
        assert found != expected


def test_a_connection_whose_requests_never_begin_alike_learns_seldom() -> None:
    with counted_calls(ProduceReplay, "learn"):
        made = Run()
        for number in range(200):
            made.do(Produce(client_id=f"client-{number}"))
    replay = made.connections[0]._replay
    assert replay is not None
    assert replay._pause >= 63


def test_a_long_request_takes_the_ordinary_path() -> None:
    assert replayed([*WARM, Produce(value=b"x" * 40_000)]) == 3


def test_several_topics_take_the_ordinary_path() -> None:
    assert replayed([Produce(topics=TOPICS, count=5)]) == 0


def test_a_bug_closes_only_its_connection() -> None:
    made = Run()
    for step in WARM:
        made.do(step)
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, ProduceReplay.respond, "if refusals", "if topic.nothing")
        made.do(USUAL)
    assert [type(bug) for bug in made.bugs] == [AttributeError]
    assert "internal error in PRODUCE v9" in str(made.written[-1])
    made.do(USUAL)
    assert len(made.bugs) == 1


def test_acknowledgements_are_not_kept_after_the_audit() -> None:
    made = Run()
    for step in (*WARM, ("audit", True), USUAL, ("audit", False), USUAL):
        made.do(step)
    replay = made.connections[0]._replay
    assert replay is not None
    assert replay._context.acknowledgements is None


def test_the_journal_has_the_principal_of_each_request() -> None:
    made = Run()
    for step in (("keep_journal", True), *WARM, ("log_in", 0, "alice"), USUAL):
        made.do(step)
    users = [line.context.principal for line in made.dispatcher.journal if isinstance(line, Entry)]
    assert users == ["ANONYMOUS"] * 6 + ["alice"] * 3


@pytest.mark.parametrize("acks", [0, 1])
def test_a_read_is_answered_with_bytes_or_with_nothing(acks: int) -> None:
    produce = Produce(acks=acks)
    made = Run()
    for _ in range(4):
        made.do(produce)
    output = made.connections[0].respond(made._frame(produce), made.now_ms)
    assert output is NOTHING if acks == 0 else isinstance(output, bytes)
