"""What of a response depends on the moment."""

from typing import Any

from proxy.diff.field_comparison import FieldDifference
from proxy.diff.live_differences import allowed_live, without_moving_fields


def fetched(*partitions: dict[str, Any]) -> dict[str, Any]:
    return {"error_code": 0, "responses": [{"topic": "t", "partitions": list(partitions)}]}


def test_a_partition_without_an_error_may_come_in_one_response_only() -> None:
    here = {"partition_index": 0, "error_code": 0, "high_watermark": 4, "records": ["x"]}
    failed = {"partition_index": 1, "error_code": 3, "high_watermark": -1, "records": []}
    real, ours = without_moving_fields("Fetch", fetched(here, failed), fetched(failed))
    assert real == ours
    assert [entry["partition_index"] for entry in real["responses"]] == [1]
    real, ours = without_moving_fields("Fetch", fetched(here), fetched({**here, "error_code": 1}))
    assert real != ours


def test_the_end_of_a_log_moves_and_its_start_does_not() -> None:
    offset = FieldDifference("ListOffsets", "topics[].partitions[].offset", "x", 1, 2)
    for timestamp, is_allowed in ((-1, True), (-2, False)):
        arguments = {"topics": [{"partitions": [{"timestamp": timestamp}]}]}
        assert (allowed_live(offset, arguments) is not None) is is_allowed
