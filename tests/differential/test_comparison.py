"""How answers are compared: by key, with order, and without what is allowed to differ."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest

from protocol import messages
from protocol.message_schema import schema_of
from proxy.diff.allowed_differences import ALLOWED_DIFFERENCES
from scripts import compatibility_table
from tests.differential.comparison import Comparison, compare
from tests.differential.conversation import Conversation, Receive, Send
from tests.differential.player import CLOSED, SILENT


def compared(kafka: Any, ours: Any, api: str = "Metadata", **arguments: Any) -> Comparison:
    return compare(Conversation((Send(api, 0, arguments),)), [kafka], [ours])


def signatures(kafka: Any, ours: Any, api: str = "Metadata") -> set[str]:
    return set(compared(kafka, ours, api).signatures)


def test_a_field_that_differs_is_named_with_its_place() -> None:
    kafka = {"topics": [{"name": "a", "error_code": 3}]}
    ours = {"topics": [{"name": "a", "error_code": 0}]}
    (difference,) = compared(kafka, ours).differences
    assert difference.signature == (
        "Metadata topics[].error_code UNKNOWN_TOPIC_OR_PARTITION, not NONE"
    )
    assert str(difference) == (
        "step 1 Metadata topics[a].error_code: Kafka UNKNOWN_TOPIC_OR_PARTITION, ours NONE"
    )


def test_entries_are_compared_by_their_key() -> None:
    kafka = [{"index": 0, "error_code": 0}, {"index": 1, "error_code": 0}]
    assert signatures({"p": kafka}, {"p": kafka[1:]}) == {"Metadata p[] missing"}
    assert signatures({"p": kafka[1:]}, {"p": kafka}) == {"Metadata p[] extra"}
    assert signatures({"p": kafka}, {"p": kafka[::-1]}) == {"Metadata p order"}


def test_equal_entries_are_counted() -> None:
    assert signatures({"p": ["a", "a"]}, {"p": ["a"]}) == {"Metadata p[] missing"}


def test_false_is_not_zero_and_an_absent_field_is_not_null() -> None:
    assert signatures({"a": False}, {"a": 0}) == {"Metadata a"}
    assert signatures({"a": None}, {}) == {"Metadata a"}


def test_a_closed_connection_is_one_difference() -> None:
    assert signatures(CLOSED, {"a": 1, "b": 2}) == {"Metadata closed, not response"}
    assert signatures(CLOSED, CLOSED) == set()


def test_the_names_and_numbers_in_a_message_do_not_make_another_difference() -> None:
    first = signatures({"error_message": "Topic ~a has 3"}, {"error_message": "no"})
    second = signatures({"error_message": "Topic ~b has 4"}, {"error_message": "no"})
    third = signatures({"error_message": "Other ~b has 4"}, {"error_message": "no"})
    assert first == second != third


def test_an_allowed_difference_is_counted_and_not_reported() -> None:
    kafka = {"results": [{"log_dir": "x", "total_bytes": 7}]}
    ours = {"results": [{"log_dir": "x", "total_bytes": -1}]}
    comparison = compared(kafka, ours, "DescribeLogDirs")
    assert comparison.differences == []
    assert sum(comparison.allowed.values()) == 1
    assert compared(kafka, ours, "Metadata").differences != []


def test_an_allowed_answer_of_kafka_allows_no_other_answer_and_no_other_request() -> None:
    unknown: list[Any] = [
        {"resource_type": number, "resource_name": "~a", "configs": []} for number in (1, 3)
    ]
    error = {"error_code": 42}
    assert compared(SILENT, error, "AlterConfigs", resources=unknown).differences == []
    assert compared(error, SILENT, "AlterConfigs", resources=unknown).differences != []
    assert compared(CLOSED, error, "AlterConfigs", resources=unknown).differences != []
    assert compared(SILENT, error, "AlterConfigs", resources=unknown[:1]).differences != []
    assert compared(SILENT, error, "IncrementalAlterConfigs", resources=unknown).differences != []


def test_kafka_may_be_silent_about_null_records_and_some_markers() -> None:
    error = {"error_code": 87}
    for records, is_allowed in ((None, True), ({"hex": ""}, False)):
        topic = {"name": "~a", "partition_data": [{"index": 0, "records": records}]}
        found = compared(SILENT, error, "Produce", topic_data=[topic])
        assert (found.differences == []) is is_allowed
    for indexes, is_allowed in (([1, 1], True), ([1, 0], False)):
        marker = {"producer_id": 1, "topics": [{"name": "~a", "partition_indexes": indexes}]}
        found = compared(SILENT, error, "WriteTxnMarkers", markers=[marker])
        assert (found.differences == []) is is_allowed
        assert compared(SILENT, error, "WriteTxnMarkers", markers=[marker] * 2).differences == []


def test_a_difference_is_allowed_in_some_entries_only() -> None:
    def with_leader(topic: str, leader_id: int) -> Any:
        return {"topics": [{"name": topic, "partitions": [{"leader_id": leader_id}]}]}

    step = Send("DescribeTopicPartitions", 0)
    for topic, is_allowed in (("__consumer_offsets", True), ("~a", False)):
        answers = [with_leader(topic, leader_id) for leader_id in (1, 2)]
        found = compare(Conversation((step,), brokers=3), [answers[0]], [answers[1]])
        assert (found.differences == []) is is_allowed


def test_entries_with_one_name_and_several_topic_ids_are_compared_by_id() -> None:
    entries = [
        {"name": "~a", "topic_id": f"topic_id#{number}", "error_code": number} for number in (0, 1)
    ]
    kafka, ours = ({"responses": found} for found in (entries, entries[::-1]))
    assert compared(kafka, ours, "DeleteTopics").differences == []
    other = [entries[0], {**entries[1], "error_code": 7}]
    (difference,) = compared(kafka, {"responses": other}, "DeleteTopics").differences
    assert difference.place == "responses[~a topic_id#1].error_code"


@pytest.mark.parametrize(("release", "is_allowed"), [("3.9", True), ("4.0", False)])
def test_a_difference_is_allowed_in_some_releases_only(release: str, is_allowed: bool) -> None:
    step = Send("ApiVersions", 3)
    answers = [{"api_keys": [{"api_key": 1, "min_version": low}]} for low in (0, 4)]
    found = compare(Conversation((step,), release=release), [answers[0]], [answers[1]])
    assert (found.differences == []) is is_allowed


@pytest.mark.parametrize("topics", [None, []])
def test_offsets_may_have_another_order_if_all_are_fetched(topics: list[Any] | None) -> None:
    kafka, ours = ({"topics": [{"name": name} for name in names]} for names in ("ab", "ba"))
    found = compared(kafka, ours, "OffsetFetch", topics=topics)
    assert (found.differences == []) is (topics is None)


@pytest.mark.parametrize(
    "allowed", ALLOWED_DIFFERENCES, ids=lambda allowed: f"{allowed.api}-{allowed.path}"
)
def test_an_allowed_difference_names_a_field_of_the_schema(allowed: Any) -> None:
    if allowed.path == "response":
        return
    apis = [key for key in messages.API_NAMES if fnmatchcase(messages.API_NAMES[key], allowed.api)]
    paths = [path for key in apis for path in paths_of(schema_of(messages.response_class(key)))]
    assert apis
    assert any(fnmatchcase(path, allowed.path.replace("[]", "")) for path in paths)


def paths_of(struct: Any) -> Iterator[str]:
    """Yield the path of each field of a message."""
    for name, field in struct.fields.items():
        yield name
        inner = field.array_of if field.is_struct_array() else field
        if getattr(inner, "fields", None):
            yield from (f"{name}.{path}" for path in paths_of(inner))


def test_a_response_that_is_received_later_belongs_to_its_request() -> None:
    conversation = Conversation((Send("JoinGroup", 3, is_awaited=False), Receive("a")))
    answers = [None, {"error_code": 25}]
    (difference,) = compare(conversation, answers, [None, {"error_code": 0}]).differences
    assert difference.api == "JoinGroup"
    assert difference.step == 1


def test_the_page_lists_what_is_allowed() -> None:
    page = compatibility_table.TARGET.read_text(encoding="utf-8")
    assert compatibility_table.render(page) == page, "run: python -m scripts.compatibility_table"
