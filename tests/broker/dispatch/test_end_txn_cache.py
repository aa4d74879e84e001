"""An EndTxn like the one before: the cached path leaves the same behind as the ordinary one."""

from collections.abc import Sequence

import pytest

from broker.dispatch import end_txn_cache
from broker.dispatch.end_txn_cache import FRAME_BYTES_MAX, EndTxnCache, shape_of
from broker.request.client_charge import open_time_rate
from tests.broker.dispatch.produce_runs import Change, Produce, counted_calls
from tests.broker.dispatch.transactional_runs import TransactionalRun, assert_needed, hits_of

PRODUCE = Produce(transactional_id="a", version=12)
END: Change = ("end", "a")
TRANSACTION: tuple[Produce | Change, ...] = (PRODUCE, PRODUCE, END)
WARM: tuple[Produce | Change, ...] = (("init", "a"), *TRANSACTION, *TRANSACTION, *TRANSACTION)
"""The third request of the first transaction is learnt, the other two ends are cached."""
ABORT: Change = ("end", "a", False)


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("is_commit", [True, False])
def test_every_version_is_cached(version: int, is_commit: bool) -> None:
    steps: list[Produce | Change] = [("init", "a")]
    for _ in range(4):
        steps += [("add_partition", "a", "t", 0), PRODUCE, PRODUCE]
        steps.append(("end", "a", is_commit, version))

    assert hits_of(steps)[1] == 3


@pytest.mark.parametrize(
    ("steps", "hit_count"),
    [
        ([PRODUCE, ABORT, PRODUCE, END], 4),
        ([PRODUCE, ("end", "a", True, 5, -1), END], 4),
        ([("end", "a", True, 5, -1), ABORT, ABORT, END], 6),
        ([("end", "b"), ("end", "a")], 2),
        ([PRODUCE, ("end", "a", True, 4)], 2),
        ([PRODUCE, ("use_epochs_up", "a"), *TRANSACTION * 9], 11),
        ([("expire",), END], 3),
        ([PRODUCE, ("make_available", 1, "ISOLATED"), END], 3),
        ([PRODUCE, ("advance", 11_000), ("abort_timed_out",), END], 3),
        ([PRODUCE, ("end_session", 0, 1), END], 3),
        ([("keep_journal", True), *TRANSACTION, PRODUCE, ABORT], 4),
    ],
)
def test_the_state_of_a_transaction_does_not_matter(
    steps: Sequence[Produce | Change], hit_count: int
) -> None:
    assert hits_of([*WARM, *steps])[1] == hit_count


CHECKS: tuple[tuple[str, str, Sequence[Produce | Change]], ...] = (
    ("self._faults.is_enabled", "False", [("add_rule_for_ends",)]),
    (
        "len(data) > journal.run_bytes_max",
        "False",
        [("keep_journal", True), END, ("follow_journal",)],
    ),
    ("self._session.limited_from_ms <= now_ms", "False", [("end_session", 0, 0)]),
    (
        "cluster.quotas.clients.request_percentage.is_enabled",
        "False",
        [("set_quota", "request_percentage", 1e6, False), END, PRODUCE, END, PRODUCE, END, PRODUCE],
    ),
    (
        "shape.produce_version != cluster.produce_version",
        "False",
        [("configure_brokers", None, "broker.api.versions", "Produce=3-13,EndTxn=0-4")],
    ),
)


@pytest.mark.parametrize(("right", "wrong", "steps"), CHECKS)
def test_a_cache_without_a_check_is_found(
    right: str, wrong: str, steps: Sequence[Produce | Change]
) -> None:
    assert_needed([*WARM, PRODUCE, *steps, END, END], EndTxnCache.respond, right, wrong)


def test_the_time_of_ends_is_charged() -> None:
    quota: Change = ("set_quota", "request_percentage", 1e6, False)
    steps: list[Produce | Change] = [*WARM, PRODUCE, quota]
    for _ in range(4):
        steps += [END, PRODUCE]
    right = "time_rate.record(ended_ns - started_ns, now_ms)"
    assert_needed(steps, EndTxnCache.respond, right, "pass")


def test_ends_that_have_taken_too_long_together_are_throttled() -> None:
    """The first request beyond the quota is an end."""
    quota: Change = ("set_quota", "request_percentage", 0.11, False)
    steps: list[Produce | Change] = [*WARM, quota, PRODUCE]
    for _ in range(60):
        steps += [PRODUCE, END]
    right = "rate is None or not rate.allows(TIME_MAX_NS, now_ms)"
    assert_needed(steps, open_time_rate, right, "rate is None")


def test_an_end_of_another_transaction_is_found() -> None:
    steps: list[Produce | Change] = [*WARM, PRODUCE, ("init", "b"), ("end", "b"), END, END]
    assert_needed(steps, EndTxnCache._response, "found_piece != piece", "False")


def test_the_ends_of_usual_transactions_are_handled_at_once() -> None:
    made = TransactionalRun()
    for step in WARM:
        made.do(step)

    with (
        counted_calls(EndTxnCache, "respond") as at_once,
        counted_calls(EndTxnCache, "respond_to_read") as later,
    ):
        for step in TRANSACTION * 3:
            made.do(step)
    assert (len(at_once), len(later)) == (3, 0)


def test_what_is_not_one_usual_request_has_no_shape() -> None:
    made = TransactionalRun()
    made.do(("init", "a"))
    frame = made.end_frame("a")
    cluster = made.cluster
    assert shape_of(cluster, 1, frame) is not None

    for end in range(len(frame)):
        assert shape_of(cluster, 1, frame[:end]) is None
    assert shape_of(cluster, 1, frame + frame) is None
    assert shape_of(cluster, 1, frame[:7] + b"\6" + frame[8:]) is None
    assert shape_of(cluster, 1, frame[:-1] + b"\1") is None
    assert shape_of(cluster, 1, made.end_frame("a" * 800, version=0)) is not None
    assert shape_of(cluster, 1, made.end_frame("a" * FRAME_BYTES_MAX, version=0)) is None


def test_an_error_closes_only_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    made = TransactionalRun()
    for step in WARM:
        made.do(step)
    with monkeypatch.context() as patch:
        patch.setattr(end_txn_cache, "end_transaction", None)
        made.do(END)

    assert len(made.bugs) == 1
    assert "internal error in END_TXN v5" in str(made.written[-1])
    made.do(PRODUCE)
    made.do(END)
    assert len(made.bugs) == 1


def test_a_batch_behind_ends_drops_old_batches_beyond_the_retained_size() -> None:
    topic: Change = ("configure", "t", "retention.bytes", "100")
    hits_of([topic, *WARM, ABORT, ABORT, ABORT, PRODUCE, PRODUCE])
