from dataclasses import replace

import pytest

from scenarios.maven import CannotRunError
from tests.soak.resources import Growth
from tests.soak.run import ClientReport, soak, violations_of, violations_of_growth

GOOD = ClientReport(
    name="java",
    acked=2,
    failed=0,
    stored=2,
    read=2,
    read_again=0,
    lost=[],
    duplicates=[],
    duplicates_of_new_epochs=0,
    unread=[],
    is_finished=True,
)


@pytest.mark.parametrize(
    ("report", "violations"),
    [
        (GOOD, []),
        (replace(GOOD, failed=1, read_again=3, duplicates_of_new_epochs=1), []),
        (replace(GOOD, lost=[7]), ["java: 1 acknowledged records are not stored: [7]"]),
        (replace(GOOD, duplicates=[7, 8]), ["java: 2 records are stored twice: [7, 8]"]),
        (replace(GOOD, unread=[7]), ["java: 1 stored records were not read: [7]"]),
        (replace(GOOD, acked=0), ["java: nothing was acknowledged"]),
        (replace(GOOD, is_finished=False), ["java: it did not finish"]),
    ],
)
def test_each_broken_promise_is_a_violation(report: ClientReport, violations: list[str]) -> None:
    assert violations_of(report) == violations


@pytest.mark.parametrize(
    ("growth", "violations"),
    [
        (Growth(0.9, 4, 1740), 0),
        (Growth(1.1, 4, 1740), 1),
        (Growth(1.1, 6, 1740), 2),
        (Growth(14, 100, 60), 0),
        (Growth(16, 0, 60), 1),
    ],
)
def test_resources_must_not_grow(growth: Growth, violations: int) -> None:
    assert len(violations_of_growth(growth)) == violations


@pytest.mark.long
def test_five_clients_of_three_languages_lose_nothing_and_write_nothing_twice() -> None:
    try:
        report = soak(minutes=2, rate=30, seed=1, show=print)
    except CannotRunError as error:
        pytest.skip(str(error))
    assert report.violations == []
    assert len(report.clients) == 5
    assert len(report.disturbances) == 9
