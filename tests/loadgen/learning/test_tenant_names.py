"""Names of tenants are different, and may begin the name of a topic."""

import re

from hypothesis import given
from hypothesis import strategies as st

from loadgen.learning.tenant_names import free_name

WORDS = st.lists(st.text(max_size=40), min_size=1, max_size=2)


@given(st.lists(st.tuples(WORDS, st.text(max_size=5)), max_size=12))
def test_names_differ_and_are_beginnings_of_topic_names(
    given_words: list[tuple[list[str], str]],
) -> None:
    found: list[str] = []
    for words, distinction in given_words:
        found.append(free_name(words, distinction, found))
    assert len(set(found)) == len(given_words)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in found)


def test_a_name_says_where_it_comes_from() -> None:
    assert free_name(["User:alice", ""], "t", []) == "User-alice"
    assert free_name(["a", "topic-creator"], "t", ["a"]) == "a-topic-creator"
    assert free_name(["a"], "t", ["a"]) == "a-t"
    assert free_name(["a"], "t", ["a", "a-t"]) == "a-2"
