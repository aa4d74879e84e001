"""Frequent requests execute about as many bytecode instructions as the kept figures say."""

from typing import Any

import pytest

from benchmarks.instructions import COUNTS, PYTHON, count_c_calls, count_instructions, figures
from broker.dispatch.connection import Connection

ALLOWED_SHARE = 0.1


def test_instructions_and_calls_of_c_functions_are_counted() -> None:
    def one() -> None:
        len(())

    def three() -> None:
        len(())
        len(())
        len(())

    assert count_instructions(three)[0] > count_instructions(one)[0] > 0
    assert (count_c_calls(one), count_c_calls(three)) == ((1, None), (3, None))


@pytest.mark.skipif(PYTHON not in figures(), reason=f"no figures for Python {PYTHON}")
@pytest.mark.parametrize("name", COUNTS)
def test_a_request_executes_what_its_figure_says(name: str) -> None:
    """A change of more than a tenth needs a new figure: python -m benchmarks.instructions --write.

    A count that fell also needs one, or the next growth would go unnoticed.
    """
    expected = figures()[PYTHON][name]

    found = COUNTS[name]()

    assert found == pytest.approx(expected, rel=ALLOWED_SHARE, abs=2)


def test_every_request_has_a_figure_in_every_kept_version() -> None:
    assert {python: set(kept) for python, kept in figures().items()} == {
        python: set(COUNTS) for python in figures()
    }


def test_work_that_is_added_to_a_request_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "Produce, one in a read"
    receive = Connection.receive

    def slower(connection: Connection, data: bytes, now_ms: int) -> Any:
        for _ in range(60):
            len(data)
        return receive(connection, data, now_ms)

    before = COUNTS[name]()
    monkeypatch.setattr(Connection, "receive", slower)
    after = COUNTS[name]()

    assert after[0] > before[0] * (1 + ALLOWED_SHARE)
    assert after[1] >= before[1] + 60
