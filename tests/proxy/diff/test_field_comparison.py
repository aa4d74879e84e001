"""Two responses, field by field."""

from typing import Any

from proxy.diff.field_comparison import FieldDifference, compare_responses, find_allowed


def test_fields_are_counted_and_differences_are_found_by_key() -> None:
    real, ours = ({"topics": [{"name": "a", "error_code": code}]} for code in (0, 3))
    found: list[FieldDifference] = []
    assert compare_responses("Metadata", real, ours, found.append) == 2
    assert str(found[0]) == (
        "Metadata topics[a].error_code: Kafka NONE, ours UNKNOWN_TOPIC_OR_PARTITION"
    )
    assert find_allowed(found[0], {}, 1, "4.4") is None


def test_members_may_have_another_order() -> None:
    real, ours = ({"members": [{"member_id": one} for one in order]} for order in ("ab", "ba"))
    found: list[FieldDifference] = []
    compare_responses("JoinGroup", real, ours, found.append)
    arguments: dict[str, Any] = {}
    assert [find_allowed(one, arguments, 1, "4.4") is not None for one in found] == [True]
