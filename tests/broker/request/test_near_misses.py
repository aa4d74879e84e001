"""Near misses are ranked and grouped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.request.near_misses import NEAR_MISSES_MAX, Comparison, Difference, nearest, was


def compared(number: int, held: int, *differences: Difference, api: str = "Produce") -> Comparison:
    return Comparison(number, api, 9, "orders", held, differences)


def test_requests_that_differ_alike_are_one_line_with_the_newest() -> None:
    at_zero = was("partition", [0])
    elsewhere = was("topic", ["order"])
    found = nearest(
        [
            compared(43, 1, elsewhere),
            compared(42, 2, at_zero),
            compared(41, 2, at_zero),
            compared(40, 3),
            compared(39, 2, at_zero),
        ]
    )
    assert list(map(str, found)) == [
        "#42 Produce v9 of 'orders': partition was 0 (3 times)",
        "#43 Produce v9 of 'orders': topic was 'order'",
    ]


def test_those_of_another_api_are_named_only_if_there_are_no_others() -> None:
    fetch = compared(2, 3, was("api", "Fetch"), api="Fetch")
    assert list(map(str, nearest([fetch]))) == ["#2 Fetch v9 of 'orders': api was Fetch"]
    produce = compared(1, 1, was("topic", []))
    assert nearest([fetch, produce])[0].newest is produce


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abcdefgh"))))
def test_the_lines_are_few_and_in_order(drawn: list[tuple[int, str]]) -> None:
    requests = [
        compared(number, held, Difference(field, field))
        for number, (held, field) in reversed(list(enumerate(drawn, 1)))
    ]
    found = nearest(requests)
    assert len(found) == min(len({field for _held, field in drawn}), NEAR_MISSES_MAX)
    ranks = [(-miss.newest.held, -miss.newest.number) for miss in found]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    ("field", "values", "text"),
    [
        ("api", "Fetch", "api was Fetch"),
        ("client_id", None, "client_id was none"),
        ("topic", [], "topic was none"),
        ("topic", ["a", "b"], "topic was 'a', 'b'"),
        ("partition", list(range(9)), "partition was 0, 1, 2, 3, 4, 4 others"),
        ("topic", ["x" * 300], f"topic was '{'x' * 199}..."),
        ("denied", False, "denied was False"),
    ],
)
def test_a_difference_has_the_values(field: str, values: object, text: str) -> None:
    assert was(field, values) == Difference(field, text)


def test_a_client_without_an_id_is_named_so() -> None:
    one = Comparison(1, "Fetch", 4, None, 0, (was("topic", []),))
    assert str(nearest([one])[0]) == "#1 Fetch v4 of no client id: topic was none"
