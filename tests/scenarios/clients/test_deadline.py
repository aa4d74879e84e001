import pytest

from client import clock
from scenarios.clients.deadline import Deadline


def test_a_deadline_holds_until_it_is_over_and_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "now_ms", lambda: 1_000)
    deadline = Deadline(2.5)
    monkeypatch.setattr(clock, "now_ms", lambda: 3_499)
    assert deadline.holds("a record")
    monkeypatch.setattr(clock, "now_ms", lambda: 3_500)
    with pytest.raises(TimeoutError, match="not in time: a record"):
        deadline.holds("a record")
