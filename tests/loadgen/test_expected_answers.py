"""What brings a client forward is no error, in every place that counts errors."""

from client.errors import error_name
from loadgen.analysis import request_groups
from loadgen.expected_answers import ACKNOWLEDGED, NO_ERRORS
from loadgen.limit_search import objectives
from protocol.errors import ErrorCode

EXPECTED = {
    "NONE",
    "DUPLICATE_SEQUENCE_NUMBER",
    "MEMBER_ID_REQUIRED",
    "REBALANCE_IN_PROGRESS",
    "COORDINATOR_LOAD_IN_PROGRESS",
}


def test_no_other_code_is_expected() -> None:
    assert {error.name for error in NO_ERRORS} == EXPECTED
    assert set(ACKNOWLEDGED) < set(NO_ERRORS)


def test_the_summary_and_the_objectives_of_find_count_the_same_errors() -> None:
    rows = [
        {"status": "responded", "error_code": code, "error": error_name(code)} for code in ErrorCode
    ]
    counted = {row["error"] for row in rows if request_groups._is_error(row)}
    assert counted == {error.name for error in ErrorCode} - EXPECTED
    assert counted == {row["error"] for row in rows if objectives._is_error(row)}
