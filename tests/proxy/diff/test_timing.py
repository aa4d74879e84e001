"""Differences of time count if they last."""

from proxy.diff.field_comparison import FieldDifference
from proxy.diff.timing import LASTING_MS_MIN, Suspect, Suspects, timing_reason

HEARTBEAT = FieldDifference("Heartbeat", "error_code", "error_code", 27, 0)


def test_a_rebalance_may_begin_earlier_in_one() -> None:
    assert timing_reason(HEARTBEAT) is not None
    assert timing_reason(FieldDifference("Heartbeat", "error_code", "error_code", 25, 0)) is None


def test_offsets_of_a_transaction_may_be_unstable_for_a_while() -> None:
    for codes in ((88, 0), (0, 88)):
        assert timing_reason(FieldDifference("OffsetFetch", "error_code", "x", *codes)) is not None
    assert timing_reason(FieldDifference("OffsetFetch", "error_code", "x", 88, 16)) is None


def test_what_lasts_is_noted_and_what_goes_is_counted() -> None:
    noted: list[int] = []
    suspects = Suspects()
    for number in range(3):
        at_ms = number * LASTING_MS_MIN
        seen = Suspect(HEARTBEAT, "time", at_ms, at_ms, lambda: noted.append(1))
        suspects.see("question", [seen], at_ms)
    assert noted == [1]
    suspects.see("other", [Suspect(HEARTBEAT, "time", 0, 0, lambda: noted.append(2))], 0)
    suspects.see("other", [], 1)
    assert (noted, suspects.settled, suspects.unsettled()) == ([1], {"time": 1}, [])
