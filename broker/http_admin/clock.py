"""The cluster's time: how it goes by, and moving it."""

from typing import Annotated, Literal

import msgspec

from broker.clock import ClockMode
from broker.http_admin.operation import Input, Problem, operation
from broker.http_admin.state import Admin

ADVANCE_MS_MAX = 400 * 24 * 3600 * 1000
"""More than a year: retention and expiry look around every few minutes of it."""

Factor = Annotated[float, msgspec.Meta(gt=0, le=10_000)]


class ClockView(msgspec.Struct):
    """The time in ms since the epoch, and how fast it goes: 1 is real, 0 is standing."""

    mode: Literal["real", "scaled", "standing"]
    factor: float
    now_ms: int


class ClockBody(Input):
    """How time is to go by; `factor` is for `scaled`."""

    mode: Literal["real", "scaled", "standing"]
    factor: Factor | None = None


class AdvanceBody(Input):
    """By how much; one of the two."""

    ms: Annotated[int, msgspec.Meta(ge=0, le=ADVANCE_MS_MAX)] | None = None
    seconds: Annotated[float, msgspec.Meta(ge=0, le=ADVANCE_MS_MAX / 1000)] | None = None


@operation("GET", "/v1/clock", tag="clock")
def get_clock(admin: Admin) -> ClockView:
    """The time."""
    clock = admin.clock
    return ClockView(clock.mode.value, clock.factor, clock.now_ms())


@operation("PUT", "/v1/clock", tag="clock")
def put_clock(admin: Admin, body: ClockBody) -> ClockView:
    """Have time go by like the machine's, faster or slower, or stand."""
    if (body.mode == "scaled") != (body.factor is not None):
        raise Problem(400, 'body: "factor" belongs to mode "scaled", and to no other')
    admin.clock.set_mode(ClockMode(body.mode), body.factor or 1.0)
    admin.server.reset_alarm()
    return get_clock(admin)


@operation("POST", "/v1/clock/advance", tag="clock")
def advance_clock(admin: Admin, body: AdvanceBody) -> ClockView:
    """Move the clock on, whichever way it goes.

    Everything that becomes due meanwhile is done, in order, before this responses: ends of mutes,
    expiries, timeouts of groups, delayed responses.
    """
    if (body.ms is None) == (body.seconds is None):
        raise Problem(400, 'body: say either "ms" or "seconds", such as {"seconds": 3600}')
    duration_ms = body.ms if body.ms is not None else round((body.seconds or 0) * 1000)
    admin.server.advance(duration_ms)
    return get_clock(admin)
