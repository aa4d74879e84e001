import pytest

from scenarios.producer_ids.steady_id import (
    QUOTA,
    Seen,
    SteadyUse,
    TextbookFilter,
    broken_promises,
    rows,
    timelines,
    use_steadily,
)

HOURS = 3


@pytest.mark.interop
def test_the_broker_calls_it_new_once_and_the_textbook_every_hour() -> None:
    outcome = use_steadily(HOURS)
    assert broken_promises(outcome) == []
    assert outcome.new_at_s == [0]
    assert outcome.textbook_new_at_s == [0, 3_600, 7_200, 10_800]
    assert (outcome.delivered, outcome.errors) == (HOURS * 12 + 1, [])
    # Were it called new, it would be refused: the others took every token.
    assert all(seen_id.tokens < 0 for seen_id in outcome.seen[QUOTA:])
    # 2 others in each of 36 steps; QUOTA an hour are admitted, and QUOTA - 1 at the start.
    assert outcome.crowd_refused == 36 * 2 - (QUOTA - 1) - HOURS * QUOTA
    assert sorted(outcome.layers.items())[:2] == [(0, 3_600), (900, 4_500)]


def test_the_textbook_forgets_what_was_used_a_moment_ago() -> None:
    """The timeline of the specification, without the refresh."""
    textbook = TextbookFilter(3_600, 4)
    sightings = [
        (0, 1, True),
        (5, 3, True),
        (10, 1, False),
        (900, 2, True),
        (950, 1, False),
        (1_799, 9, True),
        (3_599, 1, False),
        (3_599, 3, False),
        (3_600, 1, True),
        (3_601, 3, True),
        (4_499, 2, False),
        (4_500, 9, True),
        (7_198, 1, False),
        (7_199, 3, False),
    ]
    for at_s, producer_id, is_new in sightings:
        assert textbook.track(producer_id, at_s) is is_new, (at_s, producer_id)


def outcome(*new_at_s: int, textbook_new_at_s: tuple[int, ...] = (0, 600)) -> SteadyUse:
    seen = [Seen(at_s, at_s in new_at_s, at_s in textbook_new_at_s, -1.0) for at_s in (0, 300, 600)]
    return SteadyUse(seen, {0: 3_600}, [0], crowd_refused=1, delivered=3)


def test_a_broken_promise_is_reported() -> None:
    assert broken_promises(outcome(0)) == []
    assert "called the id new at [0, 600] s" in broken_promises(outcome(0, 600))[0]
    assert "nothing is shown" in broken_promises(outcome(0, textbook_new_at_s=(0,)))[0]
    throttled = outcome(0)
    throttled.throttle_max_ms = 5
    assert "5 ms" in broken_promises(throttled)[0]
    lost = outcome(0)
    lost.delivered = 2
    assert "2 of 3 records" in broken_promises(lost)[0]


def test_the_table_and_the_timelines_tell_both() -> None:
    table = rows(outcome(0))
    assert table[1] == ("called new", "1", "2")
    assert table[2] == ("  at", "0 h", f"0 h, {600 / 3_600:g} h")
    broker, textbook = timelines(outcome(0))
    assert (broker.new_s, textbook.new_s) == ([0], [0, 600])
    assert broker.layers == textbook.layers == [(0, 3_600)]
