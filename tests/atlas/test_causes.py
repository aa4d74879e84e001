import json
from fnmatch import filter as matching
from pathlib import Path

import pytest

from atlas.causes import RED, Cause, cause_of, causes
from atlas.clients import CLIENTS
from atlas.situation import situation_ids

RUN = Path(__file__).parents[2] / "docs" / "atlas" / "2026-11-30.json"
CELLS = json.loads(RUN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("cause", causes(), ids=lambda cause: cause.id)
def test_each_cause_is_of_a_cell_of_the_published_run(cause: Cause) -> None:
    fitting = [
        (client, situation)
        for client, of in CELLS.items()
        for situation, cell in of.items()
        if cell in RED and cause.fits(client, situation)
    ]
    assert fitting
    assert all(matching(CLIENTS, pattern) for pattern in cause.clients)
    assert all(matching(situation_ids(), pattern) for pattern in cause.situations)


def test_each_red_cell_of_the_published_run_has_a_cause() -> None:
    red = [(c, s, cell) for c, of in CELLS.items() for s, cell in of.items() if cell in RED]
    assert [one for one in red if cause_of(*one) is None] == []


def test_a_cell_that_is_as_expected_has_no_cause() -> None:
    assert cause_of("sarama", "BROKER-6", "wrong") is not None
    assert cause_of("sarama", "BROKER-6", "as_expected") is None
    assert cause_of("mock-kafka-client", "BROKER-6", "wrong") is None


def test_the_ids_of_causes_differ() -> None:
    assert len({cause.id for cause in causes()}) == len(causes())
