"""Records are compared by their offsets, once our log has them."""

from typing import Any

from proxy.diff.fetched_records import FetchedRange, FetchedRanges, Rows, rows_of


def batch(offset: int, value: str, attributes: int = 0) -> dict[str, Any]:
    record: dict[str, Any] = {
        "offset": offset,
        "timestamp": 1,
        "key": None,
        "value": value,
        "headers": [],
    }
    return {
        "attributes": attributes,
        "producer_id": -1,
        "producer_epoch": -1,
        "records": [record],
    }


def rows(*batches: dict[str, Any]) -> Rows:
    return rows_of(list(batches), 0, lambda _producer_id, _epoch: None)


def found(noted: list[str], real: Rows, recorded_end: int = 0) -> FetchedRange:
    def note(field: str, _real: Any, _ours: Any) -> None:
        noted.append(field)

    return FetchedRange("t", 0, 0, real, frozenset(), 1, note, recorded_end, None)


def test_a_range_waits_until_our_log_has_it() -> None:
    ours: list[Rows] = []
    noted: list[str] = []
    ranges = FetchedRanges(lambda _found: (ours[0], frozenset()) if ours else None)
    ranges.add(found(noted, rows(batch(0, "a"))))
    assert ranges.waiting() == [("t", 0)]
    ours.append(rows(batch(0, "b")))
    ranges.grown("t", 0)
    assert (noted, ranges.waiting(), ranges.compared_records) == (["records[0].value"], [], 1)


def test_what_our_log_never_has_is_a_difference() -> None:
    noted: list[str] = []
    ranges = FetchedRanges(lambda _found: None)
    ranges.add(found(noted, rows(batch(3, "a"))))
    ranges.end()
    assert noted == ["records[3]"]


def test_of_a_deleted_topic_nothing_is_compared() -> None:
    noted: list[str] = []
    ranges = FetchedRanges(lambda _found: None)
    ranges.add(found(noted, rows(batch(3, "a"))))
    ranges.forget("t")
    ranges.end()
    assert (noted, ranges.left_out) == ([], 1)


def test_only_our_log_may_have_more_at_recorded_offsets() -> None:
    ours = rows(batch(0, "a"), batch(1, "aborted"), batch(2, "c"))
    for recorded_end, expected in ((3, []), (0, ["records[1]"])):
        noted: list[str] = []
        ranges = FetchedRanges(lambda _found: (ours, frozenset()))
        ranges.add(found(noted, rows(batch(0, "a"), batch(2, "c")), recorded_end))
        assert noted == expected
