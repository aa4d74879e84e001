"""A table of offsets is a mapping from topic and partition to the last commit."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from broker.groups.offsets import OffsetTable
from broker.groups.results import CommittedOffset

_TOPICS = st.sampled_from("ab")
_INDEXES = st.integers(0, 2)
_STEPS = st.one_of(
    st.tuples(st.just("put"), _TOPICS, _INDEXES, st.integers(0, 9)),
    st.tuples(st.just("remove"), _TOPICS, _INDEXES),
    st.tuples(st.just("take_topic"), _TOPICS),
    st.tuples(st.just("take_all")),
)


@given(st.lists(_STEPS))
def test_an_offset_table_behaves_like_a_dictionary(steps: list[tuple[Any, ...]]) -> None:
    table = OffsetTable()
    model: dict[tuple[str, int], CommittedOffset] = {}
    for name, *arguments in steps:
        if name == "put":
            topic_name, index, offset = arguments
            committed = CommittedOffset(offset, -1, "", 0)
            table.put(topic_name, index, committed)
            model[topic_name, index] = committed
        elif name == "take_topic":
            (topic_name,) = arguments
            taken = {
                index: model.pop((name, index)) for name, index in [*model] if name == topic_name
            }
            assert table.take_topic(topic_name) == taken
        elif name == "take_all":
            found = {
                (topic, index): value
                for topic, by in table.take_all().items()
                for index, value in by.items()
            }
            assert found == model
            model.clear()
        else:
            assert table.remove(*arguments) is (tuple(arguments) in model)
            model.pop(tuple(arguments), None)

        assert {(topic, index): value for topic, index, value in table} == model
        assert len(table) == len(model)
    for key in ((topic, index) for topic in "ab" for index in range(3)):
        assert table.get(*key) == model.get(key)
