"""What counts as a broken promise."""

from types import SimpleNamespace
from typing import Any

import pytest

from scenarios.producer_ids.growth import World, broken_promises, rows
from scenarios.producer_ids.growth_picture import Sample
from scenarios.producer_ids.quick_producer import Written


def world(quota: int | None, ids: int, **changes: Any) -> World:
    """Two samples, an hour apart, of a user that ends with so many ids."""
    promised = None if quota is None else 2 * quota
    careful: Any = SimpleNamespace(delivered=100, errors=[])
    unused: Any = None
    made = World(unused, quota, unused, careful, 0)
    made.records_per_s = [1_000.0]
    made.careful_by_step = [50, 50]
    made.refused = 0 if quota is None else 5
    made.samples = [
        Sample(0.0, 1, quota, 1.0, 0.0, 1, 50),
        Sample(1.0, ids, promised, 0.0, 1.0, ids + 1, 500),
    ]
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def test_nothing_is_broken_on_the_line() -> None:
    assert broken_promises(world(None, 99), world(10, 20)) == []


@pytest.mark.parametrize(
    ("off", "on", "reason"),
    [
        (world(None, 99), world(10, 21), "there are 21 ids, promised were 20"),
        (world(None, 20), world(10, 20), "nothing is shown"),
        (world(None, 99), world(10, 20, refused=0), "refused nothing"),
        (world(None, 99), world(10, 20, careful_throttle_max_ms=1), "on: the careful user had"),
        (world(None, 99), world(10, 20, careful_by_step=[49, 51]), "fewer records"),
        (world(None, 99), world(10, 20, careful_failed=1), "1 of its requests failed"),
        (
            world(None, 99),
            world(10, 20, careful=SimpleNamespace(delivered=100, errors=["KafkaTimeoutError"])),
            "KafkaTimeoutError",
        ),
        (world(None, 99), world(10, 20, records_per_s=[400.0]), "slower"),
    ],
)
def test_a_broken_promise_is_reported(off: World, on: World, reason: str) -> None:
    (broken,) = broken_promises(off, on)
    assert reason in broken


def test_a_wait_is_a_refusal_and_another_error_is_not() -> None:
    counted = world(None, 1)
    for written in (Written(None, 0), Written("A", 0), Written("B", 700), Written("B", 300)):
        counted.count(written)
    assert (counted.tried, counted.refused, counted.other_errors) == (4, 2, 1)
    assert (counted.throttle_ms, counted.throttle_max_ms) == (1_000, 700)


def test_the_table_has_both_worlds() -> None:
    table = {name.strip(): values for name, *values in rows(world(None, 99), world(10, 20))}
    assert table["ids it activated"] == ["99", "20"]
    assert table["promised at most"] == ["-", "20"]
    assert table["producer state, bytes"] == ["500", "500"]
