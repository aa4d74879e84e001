"""A rate that changes is a row of straight pieces without gaps."""

import pytest

from loadgen.plan.rates import Ramp, Rate, RatePiece, RateStep, pieces_of, scaled_rate


@pytest.mark.parametrize(
    ("rate", "pieces"),
    [
        (5.0, [(-2, 10, 5, 5)]),
        (Ramp(100.0, 300.0), [(-2, 0, 100, 100), (0, 10, 100, 300)]),
        (Ramp(7.0, 7.0), [(-2, 10, 7, 7)]),
        (
            (RateStep(1.0, 4.0), RateStep(Ramp(1.0, 3.0))),
            [(-2, 4, 1, 1), (4, 10, 1, 3)],
        ),
        # Steps that end before the tenant stops are followed by silence, and later ones are cut.
        ((RateStep(1.0, 4.0),), [(-2, 4, 1, 1), (4, 10, 0, 0)]),
        ((RateStep(Ramp(0.0, 40.0), 20.0), RateStep(1.0)), [(-2, 0, 0, 0), (0, 10, 0, 20)]),
        ((RateStep(1.0, 10.0), RateStep(2.0)), [(-2, 10, 1, 1)]),
    ],
)
def test_ramps_and_steps_begin_after_the_warm_up(
    rate: Rate, pieces: list[tuple[float, ...]]
) -> None:
    assert pieces_of(rate, -2, 0, 10) == pieces


def test_without_a_warm_up_the_first_piece_begins_at_once() -> None:
    assert pieces_of(Ramp(0.0, 10.0), 3, 3, 5) == [RatePiece(3, 5, 0, 10)]
    assert RatePiece(3, 5, 0, 10).events == 10


def test_scaling_multiplies_the_rate_at_every_time() -> None:
    assert scaled_rate(2.0, 3.0) == 6.0
    assert scaled_rate(Ramp(1.0, 2.0), 0.5) == Ramp(0.5, 1.0)
    steps = (RateStep(1.0, 4.0), RateStep(Ramp(0.0, 2.0)))
    assert scaled_rate(steps, 2.0) == (RateStep(2.0, 4.0), RateStep(Ramp(0.0, 4.0)))
