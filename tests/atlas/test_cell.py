from dataclasses import replace
from typing import Any

import msgspec
import pytest

from atlas.cell import cell
from atlas.data_verdict import DataVerdict
from atlas.experiment import Manners, Observation
from atlas.situation import Expectation, Situation, Source
from tests.atlas.observations import command, request, seen

SOURCE = Source(kind="KIP", name="KIP-91", says="it ends", url="https://cwiki.apache.org/x")
KEPT = DataVerdict("kept", ())
DUPLICATED = DataVerdict("duplicated", ("duplicated: '0' is stored 2 times",))
GOOD = Manners(
    retries=1,
    backoff_ms=60.0,
    throttle=None,
    reported="success",
    error=None,
    error_class=None,
    closed="cleanly",
    usable=True,
    outcome_ms=100.0,
)


def situation(
    *sources: Source, arguments: dict[str, Any] | None = None, **expect: Any
) -> Situation:
    return Situation(
        id="KIP-091-1",
        title="a situation of a test",
        area="producer",
        workload="produce",
        sources=sources,
        arguments=arguments or {},
        expect=Expectation(**expect),
    )


def judged(
    given: Situation,
    data: DataVerdict = KEPT,
    behaviour: Manners = GOOD,
    observation: Observation | None = None,
) -> tuple[str, str]:
    found, reasons = cell(given, observation or seen(), data, behaviour)
    return found, "; ".join(reasons)


def test_what_is_not_said_is_not_judged() -> None:
    bad = replace(GOOD, reported="nothing", usable=False, outcome_ms=None)
    assert judged(situation(SOURCE), DUPLICATED, bad) == ("as_expected", "")


def test_data_against_a_source_is_wrong_and_without_a_source_differs() -> None:
    reason = "data: duplicated: '0' is stored 2 times, expected kept"
    assert judged(situation(SOURCE, data=("kept",)), DUPLICATED) == ("wrong", reason)
    assert judged(situation(data=("kept",)), DUPLICATED) == ("differs", reason)
    assert judged(situation(SOURCE, data=("kept", "duplicated")), DUPLICATED)[0] == "as_expected"


@pytest.mark.parametrize(
    ("reported", "allowed", "found"),
    [
        ("success", ("success",), "as_expected"),
        ("fatal", ("success",), "wrong"),
        ("nothing", ("timeout",), "wrong"),
        ("unknown", ("fatal",), "as_expected"),
        ("unknown", ("success",), "wrong"),
        ("timeout", ("retriable",), "as_expected"),
        ("retriable", ("timeout",), "wrong"),
    ],
)
def test_what_may_be_reported(reported: str, allowed: tuple[str, ...], found: str) -> None:
    behaviour = replace(GOOD, reported=reported)
    assert judged(situation(SOURCE, reported=allowed), behaviour=behaviour)[0] == found


def test_an_outcome_that_comes_late_or_never_is_wrong() -> None:
    given = situation(SOURCE, within_ms=3000)
    assert judged(given)[0] == "as_expected"
    late = judged(given, behaviour=replace(GOOD, outcome_ms=3001.0))
    assert late == ("wrong", "the outcome came after 3001 ms, expected within 3000 ms")
    never = judged(given, behaviour=replace(GOOD, outcome_ms=None))
    assert never == ("wrong", "no outcome, expected within 3000 ms")


def test_bad_manners_differ_in_spite_of_a_source() -> None:
    assert judged(situation(SOURCE, backoff_ms_min=50))[0] == "as_expected"
    soon = replace(GOOD, backoff_ms=20.0)
    assert judged(situation(SOURCE, backoff_ms_min=50), behaviour=soon) == (
        "differs",
        "retried after 20.0 ms, expected 50 ms",
    )
    early = replace(GOOD, throttle="early by 400 ms")
    throttled = judged(situation(SOURCE, throttle="honoured"), behaviour=early)
    assert throttled == ("differs", "throttle: early by 400 ms")
    unusable = replace(GOOD, usable=False)
    found = judged(situation(SOURCE, usable=True), behaviour=unusable)
    assert found == ("differs", "afterwards it is not usable")


def test_requests_are_counted_before_the_cluster_is_healthy_again() -> None:
    requests = [request(1, 0), request(2, 1), replace(request(3, 2), phase="afterwards")]
    two = situation(SOURCE, requests={"Produce": (2, 2)})
    assert judged(two, observation=seen(requests=requests))[0] == "as_expected"
    more = situation(SOURCE, requests={"Produce": (3, None)})
    assert judged(more, observation=seen(requests=requests)) == (
        "differs",
        "2 requests Produce, expected at least 3",
    )


def test_a_command_that_the_library_lacks_is_unsupported() -> None:
    observation = seen([command(1, "share_consumer", "unsupported")])
    assert judged(situation(SOURCE, data=("kept",)), DUPLICATED, observation=observation) == (
        "unsupported",
        "it has no share_consumer",
    )


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ("transactional_id", "unsupported"),
        ("transaction_timeout_ms", "unsupported"),
        ("auto_offset_reset", "unsupported"),
        ("delivery_timeout_ms", "unsupported"),
        ("metadata_max_age_ms", "as_expected"),
    ],
)
def test_an_essential_setting_that_the_library_lacks_is_unsupported(
    setting: str, found: str
) -> None:
    observation = seen([command(1, "producer", values={"ignored": [setting]})])
    given = situation(SOURCE, arguments={setting: 1})
    assert judged(given, observation=observation)[0] == found
    assert judged(situation(SOURCE), observation=observation)[0] == "as_expected"


NOT_IDEMPOTENT = seen([command(1, "producer", values={"ignored": ["idempotent"]})])


@pytest.mark.parametrize(
    ("name", "error", "found"),
    [
        ("KIP-091-1", "NOT_ENOUGH_REPLICAS", "as_expected"),
        ("KIP-091-1", "UNKNOWN_PRODUCER_ID", "unsupported"),
        ("INIT_PRODUCER_ID-LOST-1", None, "unsupported"),
        ("KIP-936-1", None, "unsupported"),
    ],
)
def test_a_library_without_idempotence_is_tried_where_no_producer_id_is_needed(
    name: str, error: str | None, found: str
) -> None:
    given = replace_situation(situation(SOURCE, arguments={"idempotent": True}), name, error)
    assert judged(given, observation=NOT_IDEMPOTENT)[0] == found


def replace_situation(given: Situation, name: str, error: str | None) -> Situation:
    faults = () if error is None else ({"api": "Produce", "error": error},)
    return msgspec.structs.replace(given, id=name, faults=faults)


def test_what_a_retry_stores_twice_differs_where_the_library_has_no_idempotence() -> None:
    given = situation(SOURCE, arguments={"idempotent": True}, data=("kept",), reported=("success",))
    cell_of, reasons = judged(given, DUPLICATED, observation=NOT_IDEMPOTENT)
    assert cell_of == "differs"
    assert reasons.endswith("expected kept; the library has no setting idempotent")
    lost = DataVerdict("lost_silently", ("lost_silently: '0'",))
    assert judged(given, lost, observation=NOT_IDEMPOTENT)[0] == "wrong"
    failed = replace(GOOD, reported="fatal")
    assert judged(given, DUPLICATED, failed, NOT_IDEMPOTENT)[0] == "wrong"
    assert judged(given, DUPLICATED)[0] == "wrong"


def test_a_situation_that_did_not_happen_is_not_judged() -> None:
    observation = replace(seen(), has_happened=False)
    found = judged(situation(SOURCE, data=("kept",)), DUPLICATED, observation=observation)
    assert found[0] == "unsupported"
    assert found[1].startswith("it did not happen")


def test_a_process_that_ended_is_a_crash() -> None:
    observation = replace(seen(), has_crashed=True)
    assert judged(situation(), observation=observation)[0] == "crashed"


def test_a_success_behind_a_repeated_permanent_error_only_differs() -> None:
    given = situation(SOURCE, data=("lost_and_reported",), reported=("fatal",))
    refused, stored = request(1, 0, "Produce", "INVALID_RECORD"), request(2, 60)
    reasons = "data: kept, expected lost_and_reported; reported success, expected fatal"
    repeated = seen(requests=[refused, stored])
    assert judged(given, observation=repeated) == ("differs", reasons)
    # What was refused to the end is no success, and neither is what was not sent again.
    assert judged(given, observation=seen(requests=[stored, refused]))[0] == "wrong"
    once = replace(GOOD, retries=0)
    assert judged(given, behaviour=once, observation=repeated)[0] == "wrong"
    fenced = msgspec.structs.replace(given, area="transaction")
    assert judged(fenced, observation=repeated)[0] == "wrong"
    assert judged(given, DUPLICATED, observation=repeated)[0] == "wrong"
