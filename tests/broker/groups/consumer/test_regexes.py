"""Regular expressions of subscriptions."""

from broker.groups.consumer.regexes import matching
from tests.broker.interleaving import run_with_pauses


def test_an_expression_matches_whole_names() -> None:
    names = ["orders", "orders-old", "my-orders"]
    assert matching("orders", names) == {"orders"}
    assert matching("orders.*|my.*", names) == set(names)
    assert matching("", names) == set()


def test_topics_may_come_while_it_pauses() -> None:
    names = ["a", "b"]
    matched = run_with_pauses(lambda: matching(".", names), lambda: names.append("c"))
    assert matched == {"a", "b"}
