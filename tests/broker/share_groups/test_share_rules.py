"""The rules of a group."""

import pytest

from broker.share_groups.share_rules import ShareRules


@pytest.mark.parametrize(("limit", "bad_from"), [(2, 2), (3, 2), (4, 2), (5, 3), (6, 3), (10, 5)])
def test_a_record_is_bad_from_half_of_its_deliveries_on(limit: int, bad_from: int) -> None:
    rules = ShareRules(100, limit, isolates_bad_records=True)

    assert [rules.is_bad(count) for count in (bad_from - 1, bad_from)] == [False, True]
    assert not ShareRules(100, limit).is_bad(limit)


@pytest.mark.parametrize(("limit", "is_alone"), [(2, False), (3, True), (5, True)])
def test_the_last_of_more_than_two_deliveries_is_alone(limit: int, is_alone: bool) -> None:
    assert ShareRules(100, limit, isolates_bad_records=True).is_delivered_alone(limit) == is_alone
    assert not ShareRules(100, limit).is_delivered_alone(limit)
