"""Rates that change in the course of a run, and the line pieces that they are made of."""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, field
from msgspec.structs import replace

RATE_MAX = 10_000_000
ConstantRate = Annotated[float, Meta(gt=0, le=RATE_MAX)]
RateThen = Annotated[float, Meta(ge=0, le=RATE_MAX)]


class Ramp(Struct, frozen=True, forbid_unknown_fields=True):
    """A rate that changes evenly between two values; a plan names them `from` and `to`."""

    first: RateThen = field(name="from")
    last: RateThen = field(name="to")


class RateStep(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a tenant's time, with a constant rate or a ramp."""

    rate: RateThen | Ramp
    for_s: Annotated[float, Meta(gt=0, le=1e9)] | None = None
    """None: until the tenant stops."""


Rate = ConstantRate | Ramp | Annotated[tuple[RateStep, ...], Meta(min_length=1)]


class RatePiece(NamedTuple):
    """A time in which the rate is a straight line over time."""

    begin_s: float
    end_s: float
    first: float
    """Events per second at the beginning."""
    last: float

    @property
    def events(self) -> float:
        """The integral of the rate."""
        return (self.first + self.last) / 2 * (self.end_s - self.begin_s)


def scaled_rate(rate: Rate, factor: float) -> Rate:
    """Return the rate multiplied by a factor at every time."""
    if isinstance(rate, tuple):
        return tuple(replace(step, rate=_scaled_ramp(step.rate, factor)) for step in rate)
    return _scaled_ramp(rate, factor)


def pieces_of(rate: Rate, begin_s: float, zero_s: float, stop_s: float) -> list[RatePiece]:
    """Return the pieces of a rate, in the order of time and without gaps.

    Args:
        rate: of a tenant.
        begin_s: the beginning of the first piece. Until `zero_s` the rate is the first one.
        zero_s: where ramps and steps begin.
        stop_s: the end of the last piece. What would be later is cut off.
    """
    steps = rate if isinstance(rate, tuple) else (RateStep(rate),)
    pieces = list(_pieces_from(zero_s, steps, stop_s))
    if begin_s == zero_s:
        return pieces
    before = pieces[0].first
    if pieces[0].last == before:
        return [pieces[0]._replace(begin_s=begin_s), *pieces[1:]]
    return [RatePiece(begin_s, zero_s, before, before), *pieces]


def _pieces_from(begin_s: float, steps: tuple[RateStep, ...], stop_s: float) -> Iterator[RatePiece]:
    for step in steps:
        end_s = stop_s if step.for_s is None else begin_s + step.for_s
        first, last = rate_ends(step.rate)
        if end_s > stop_s:
            last = first + (last - first) * (stop_s - begin_s) / (end_s - begin_s)
        yield RatePiece(begin_s, min(end_s, stop_s), first, last)
        begin_s = end_s
        if begin_s >= stop_s:
            return
    yield RatePiece(begin_s, stop_s, 0.0, 0.0)


def rate_ends(rate: float | Ramp) -> tuple[float, float]:
    """Return the rate at the beginning and at the end of a step."""
    return (rate.first, rate.last) if isinstance(rate, Ramp) else (rate, rate)


def _scaled_ramp(rate: float | Ramp, factor: float) -> float | Ramp:
    if isinstance(rate, Ramp):
        return Ramp(rate.first * factor, rate.last * factor)
    return rate * factor
