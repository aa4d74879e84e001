"""A reader of a list gets what has changed since it last looked, also beside other readers."""

from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.http_admin import changes
from broker.http_admin.changes import Changes
from tests.examples import examples


class Element(msgspec.Struct):
    """An element of a list in one state."""

    name: str
    state: int


@dataclass
class Reader:
    """One who keeps what was sent, as the page does."""

    version: str = ""
    elements: dict[str, Element] = field(default_factory=dict)

    def read(self, table: Changes, listed: dict[str, Element]) -> list[str]:
        """Read the list; return the names of what was sent."""
        sent, self.version, are_changes = table.since(self.version, "topic", listed)
        if not are_changes:
            self.elements = {}
        self.elements |= {element.name: element for element in sent}
        return [element.name for element in sent]


def test_only_changes_are_sent() -> None:
    table, reader, other = Changes(), Reader(), Reader()
    listed = {name: Element(name, 0) for name in "abc"}
    assert reader.read(table, listed) == ["a", "b", "c"]
    assert reader.read(table, listed) == []
    listed["b"] = Element("b", 1)
    assert other.read(table, listed) == ["a", "b", "c"]
    assert reader.read(table, listed) == ["b"]
    assert reader.read(table, listed) == []
    # The same name of another kind is another element.
    table.since("", "group", {"b": Element("b", 7)})
    assert reader.read(table, listed) == []


@pytest.mark.parametrize(
    "version", ["", "1", "a-1-b", "-", "--", "x-99-{names}", "{run}-x-{names}", "{run}-1-x"]
)
def test_another_version_gets_all(version: str) -> None:
    table = Changes()
    listed = {"a": Element("a", 0)}
    _, own, _ = table.since("", "topic", listed)
    run, _, names = own.split("-")
    sent, _, are_changes = table.since(version.format(run=run, names=names), "topic", listed)
    assert (sent, are_changes) == ([Element("a", 0)], False)


def test_a_version_of_an_earlier_broker_gets_all() -> None:
    listed = {"a": Element("a", 0)}
    _, version, _ = Changes().since("", "topic", listed)
    assert Changes().since(version, "topic", listed)[2] is False


steps = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("abcde"), st.integers(0, 3), st.integers(0, 4)),
    max_size=40,
)


@settings(max_examples=examples(200))
@given(steps)
def test_readers_always_have_the_list_as_it_is(
    steps: list[tuple[int, str, int, int]],
) -> None:
    table, readers = Changes(), [Reader(), Reader()]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(changes, "REMEMBERED_MAX", 3)
        listed: dict[str, Element] = {}
        for who, name, state, shown in steps:
            if who == 2:
                listed.pop(name, None)
            else:
                listed[name] = Element(name, state)
                page = dict(list(listed.items())[:shown])
                readers[who].read(table, page)
                assert readers[who].elements == page
            assert len(table._sent) <= 3
