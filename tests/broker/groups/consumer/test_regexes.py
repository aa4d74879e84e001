"""Regular expressions of subscriptions."""

from broker.groups.consumer.regexes import matching


def test_an_expression_matches_whole_names() -> None:
    names = ["orders", "orders-old", "my-orders"]
    assert matching("orders", names) == {"orders"}
    assert matching("orders.*|my.*", names) == set(names)
    assert matching("", names) == set()
