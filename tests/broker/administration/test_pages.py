from hypothesis import given
from hypothesis import strategies as st

from broker.administration.pages import (
    Cursor,
    PageEntry,
    names_from,
    read_page,
)
from broker.cluster.cluster import Cluster
from tests.broker.cluster_builder import make_cluster


def cluster_of(**partition_counts: int) -> Cluster:
    cluster = make_cluster(1)
    for name, partition_count in partition_counts.items():
        cluster.create_topic(name, [(1,)] * partition_count, {})
    return cluster


def summary(entries: list[PageEntry]) -> list[tuple[str, list[int]]]:
    return [(entry.name, [part.partition_index for part in entry.partitions]) for entry in entries]


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 7)),
    st.lists(st.sampled_from("abcdefgh"), max_size=10),
    st.integers(-3, 9),
)
def test_following_the_cursor_returns_every_partition_once_in_order(
    partition_counts: dict[str, int], requested: list[str], limit: int
) -> None:
    cluster = cluster_of(**partition_counts)
    seen: list[tuple[str, int]] = []
    topics: set[str] = set()
    cursor: Cursor | None = None
    for _ in range(60):
        entries, cursor = read_page(cluster, names_from(requested, cursor), cursor, limit)
        pages = [(name, index) for name, indexes in summary(entries) for index in indexes]
        assert len(pages) <= max(1, limit)
        seen += pages
        topics |= {entry.name for entry in entries}
        if cursor is None:
            break

    assert cursor is None
    there = [name for name in sorted(set(requested)) if name in partition_counts]
    assert seen == [(name, index) for name in there for index in range(partition_counts[name])]
    assert topics == set(requested)


def test_a_page_that_ends_with_a_topic_points_to_the_next_one_even_if_it_is_missing() -> None:
    entries, cursor = read_page(cluster_of(a=2), ["a", "missing"], None, 2)

    assert summary(entries) == [("a", [0, 1])]
    assert cursor == Cursor("missing", 0)


def test_a_missing_topic_does_not_count_toward_the_limit() -> None:
    entries, cursor = read_page(cluster_of(b=1), ["a", "b"], None, 1)

    assert [(entry.name, entry.topic is None) for entry in entries] == [("a", True), ("b", False)]
    assert cursor is None


def test_a_cursor_behind_the_last_partition_returns_none_of_its_topic() -> None:
    entries, cursor = read_page(cluster_of(a=2, b=1), ["a", "b"], Cursor("a", 9), 5)

    assert summary(entries) == [("a", []), ("b", [0])]
    assert cursor is None


def test_no_page_exceeds_kafkas_limit() -> None:
    cluster = cluster_of(a=2001)

    entries, cursor = read_page(cluster, ["a"], None, 2**31 - 1)

    assert len(entries[0].partitions) == 2000
    assert cursor == Cursor("a", 2000)


def test_the_largest_page_is_a_key() -> None:
    cluster = make_cluster(1, **{"max.request.partition.size.limit": "3"})
    cluster.create_topic("a", [(1,)] * 5, {})
    entries, cursor = read_page(cluster, ["a"], None, 4)
    assert summary(entries) == [("a", [0, 1, 2])]
    assert cursor == Cursor("a", 3)
