"""A conversation is shortened to what its difference needs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.differential.conversation import Conversation, Send
from tests.differential.shortening import shorten


def test_steps_entries_and_fields_that_are_not_needed_are_left_out() -> None:
    topics = [{"name": "~a", "num_partitions": 2}, {"name": "~b", "num_partitions": 1}]
    conversation = Conversation(
        (
            Send("Metadata", 9, {"topics": None}),
            Send("CreateTopics", 5, {"topics": topics, "timeout_ms": 1}),
            Send("Metadata", 9, {"topics": []}),
        )
    )

    def keeps(candidate: Conversation) -> bool:
        return any(
            isinstance(step, Send)
            and any(entry.get("name") == "~b" for entry in step.arguments.get("topics") or ())
            for step in candidate.steps
        )

    assert shorten(conversation, keeps) == Conversation(
        (Send("CreateTopics", 5, {"topics": [{"name": "~b"}]}),)
    )


@settings(max_examples=30)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(0, 9))
def test_what_is_returned_has_the_property_if_the_conversation_had_it(
    versions: list[int], version: int
) -> None:
    conversation = Conversation(tuple(Send("Fetch", sent_version) for sent_version in versions))

    def keeps(candidate: Conversation) -> bool:
        return any(isinstance(step, Send) and step.version == version for step in candidate.steps)

    short = shorten(conversation, keeps)
    if version in versions:
        assert short.steps == (Send("Fetch", version),)
    else:
        assert short == conversation
