"""Names of ids and times, in order of appearance."""

from uuid import UUID

from tests.differential.canonical import Names, new_prefix

NOW_MS = 1_700_000_000_000
PREFIX = "zq01234567-"
FIRST, SECOND = str(UUID(int=1)), str(UUID(int=2))


def names() -> Names:
    return Names(PREFIX, NOW_MS)


def test_ids_are_numbered_in_their_order_of_appearance() -> None:
    topics = [{"topic_id": SECOND}, {"topic_id": FIRST}, {"topic_id": SECOND}]
    assert names().canonical("Metadata", topics) == [
        {"topic_id": "topic_id#0"},
        {"topic_id": "topic_id#1"},
        {"topic_id": "topic_id#0"},
    ]


def test_a_name_in_an_argument_is_the_id_that_was_seen() -> None:
    seen = names()
    seen.canonical("Metadata", {"topic_id": FIRST})
    assert seen.resolve("topic_id#0") == FIRST
    assert seen.resolve("topic_id#0") != seen.resolve("topic_id#5")


def test_the_leader_of_a_group_is_one_of_its_members() -> None:
    joined = {"leader": "client-1", "member_id": "client-1", "members": [{"member_id": "client-2"}]}
    assert names().canonical("JoinGroup", joined) == {
        "leader": "member_id#0",
        "member_id": "member_id#0",
        "members": [{"member_id": "member_id#1"}],
    }


def test_what_was_sent_and_what_stands_for_nothing_stays() -> None:
    sent = names()
    sent.resolve("my-member")
    assert sent.canonical("JoinGroup", {"member_id": "my-member"}) == {"member_id": "my-member"}
    assert sent.canonical("JoinGroup", {"member_id": ""}) == {"member_id": ""}
    assert sent.canonical("Fetch", {"session_id": 0}) == {"session_id": 0}


def test_names_of_the_conversation_lose_their_prefix() -> None:
    message = {"error_message": f"Topic '{PREFIX}a' already exists."}
    assert names().canonical("CreateTopics", message)["error_message"] == (
        "Topic '~a' already exists."
    )
    assert names().resolve("~a") == f"{PREFIX}a"
    assert len(new_prefix()) == len(PREFIX)
    assert new_prefix() != new_prefix()


def test_entries_of_other_conversations_are_left_out() -> None:
    other = "zq76543210-a"
    listed = [{"name": f"{PREFIX}a"}, {"name": other}, {"name": "__consumer_offsets"}]
    assert names().canonical("Metadata", {"topics": listed}) == {
        "topics": [{"name": "~a"}, {"name": "__consumer_offsets"}]
    }
    entries = [{"entity": [{"entity_type": "user", "entity_name": other}]}]
    assert names().canonical("DescribeClientQuotas", {"entries": entries}) == {"entries": []}
    cursor = {"next_cursor": {"topic_name": other, "partition_index": 0}}
    assert names().canonical("DescribeTopicPartitions", cursor) == {"next_cursor": None}


def test_topic_ids_of_a_list_have_the_same_names_in_any_order_of_its_topics() -> None:
    ids = {"~b": UUID(int=2), "__consumer_offsets": UUID(int=3)}
    for order in (sorted(ids), sorted(ids, reverse=True)):
        listed = [{"name": name.replace("~", PREFIX), "topic_id": str(ids[name])} for name in order]
        canonical = names().canonical("Metadata", {"topics": listed})["topics"]
        assert {topic["name"]: topic["topic_id"] for topic in canonical} == {
            "__consumer_offsets": "topic_id#0",
            "~b": "topic_id#1",
        }


def test_long_names_are_short_in_arguments_and_answers() -> None:
    long = names().resolve("~x{238}")
    assert len(long) == 249
    assert names().canonical("Metadata", {"name": long}) == {"name": "~x{238}"}


def test_times_in_messages_are_now() -> None:
    message = {"error_message": f"Timestamp {NOW_MS + 9} is not within [{NOW_MS - (1 << 63)}, 5]"}
    assert names().canonical("Produce", message)["error_message"] == (
        "Timestamp now is not within [now, 5]"
    )


def test_times_of_the_broker_are_now_and_sent_times_are_relative() -> None:
    sent = names()
    assert sent.resolve("now+5") == NOW_MS + 5
    answer = {"timestamp": NOW_MS + 5, "max_timestamp": NOW_MS + 77, "log_append_time_ms": -1}
    assert sent.canonical("ListOffsets", answer) == {
        "timestamp": "now+5",
        "max_timestamp": "now",
        "log_append_time_ms": -1,
    }
