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


def test_rules_are_matched_by_all_that_they_say() -> None:
    rules = [
        {"principal": f"User:{user}", "host": "*", "operation": 3, "permission_type": 3}
        for user in ("alice", "bob")
    ]
    resource = {"resource_type": 2, "resource_name": "t", "pattern_type": 3}
    real, ours = ({"resources": [{**resource, "acls": acls}]} for acls in (rules, rules[::-1]))
    found: list[FieldDifference] = []
    compare_responses("DescribeAcls", real, ours, found.append)
    (order,) = found
    assert order.kind == "order"
    assert find_allowed(order, {}, 3, "4.4") is not None
    found.clear()
    real["resources"][0]["acls"] = rules[:1]
    compare_responses("DescribeAcls", real, ours, found.append)
    assert [one.place for one in found] == ["resources[2 t].acls[User:bob * 3 3]"]


def test_a_message_with_an_object_of_java_may_differ_and_no_other_one() -> None:
    path = "error_message"
    ours = "Request DescribeAcls needs DESCRIBE permission."
    for kafka, is_allowed in (
        ("Request Request(processor=5, session=x@4d5fba08) needs DESCRIBE permission.", True),
        ("Request denied.", False),
    ):
        difference = FieldDifference("DescribeAcls", path, path, kafka, ours)
        assert (find_allowed(difference, {}, 1, "4.4") is not None) is is_allowed
