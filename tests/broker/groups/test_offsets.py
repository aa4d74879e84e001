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
    st.tuples(st.just("remove_topic"), _TOPICS),
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
        elif name == "remove":
            table.remove(*arguments)
            model.pop(tuple(arguments), None)
        else:
            table.remove_topic(*arguments)
            model = {key: value for key, value in model.items() if key[0] != arguments[0]}

        assert {(topic, index): value for topic, index, value in table} == model
        assert len(table) == len(model)
    for key in ((topic, index) for topic in "ab" for index in range(3)):
        assert table.get(*key) == model.get(key)
