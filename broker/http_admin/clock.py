"""The cluster's clock: its mode, and moving it."""

from typing import Annotated, Literal

import msgspec

from broker.clock import ClockMode
from broker.http_admin.operation import Input, Problem, operation
from broker.http_admin.state import Admin

ADVANCE_MS_MAX = 400 * 24 * 3600 * 1000
"""More than a year. Retention and expiry run every few minutes of that time."""

Factor = Annotated[float, msgspec.Meta(gt=0, le=10_000)]


class ClockView(msgspec.Struct):
    """The time in ms since the epoch, and its speed: 1 is real time, 0 is standing."""

    mode: Literal["real", "scaled", "standing"]
    factor: float
    now_ms: int


class ClockBody(Input):
    """The mode of the clock; `factor` is for `scaled`."""

    MORE_SCHEMA = {  # noqa: RUF012 - a class variable of the base class
        "oneOf": [
            {
                "properties": {"mode": {"const": "scaled"}, "factor": {"type": "number"}},
                "required": ["factor"],
            },
            {"properties": {"mode": {"enum": ["real", "standing"]}, "factor": {"type": "null"}}},
        ]
    }
    mode: Literal["real", "scaled", "standing"]
    factor: Factor | None = None


class AdvanceBody(Input):
    """The duration; one of the two."""

    MORE_SCHEMA = {  # noqa: RUF012 - a class variable of the base class
        "oneOf": [
            {"properties": {"ms": {"type": "integer"}}, "required": ["ms"]},
            {"properties": {"seconds": {"type": "number"}}, "required": ["seconds"]},
        ]
    }
    ms: Annotated[int, msgspec.Meta(ge=0, le=ADVANCE_MS_MAX)] | None = None
    seconds: Annotated[float, msgspec.Meta(ge=0, le=ADVANCE_MS_MAX / 1000)] | None = None


@operation("GET", "/v1/clock", tag="clock")
def get_clock(admin: Admin) -> ClockView:
    """Return the time."""
    clock = admin.clock
    return ClockView(clock.mode.value, clock.factor, clock.now_ms())


@operation("PUT", "/v1/clock", tag="clock")
def put_clock(admin: Admin, body: ClockBody) -> ClockView:
    """Set the mode of the clock: real, scaled or standing."""
    if (body.mode == "scaled") != (body.factor is not None):
        raise Problem(400, '"factor" belongs to mode "scaled", and to no other', location="body")
    admin.clock.set_mode(ClockMode(body.mode), body.factor or 1.0)
    admin.server.timer_driver.reset_alarm()
    return get_clock(admin)


@operation("POST", "/v1/clock/advance", tag="clock")
def advance_clock(admin: Admin, body: AdvanceBody) -> ClockView:
    """Move the clock forward, in any mode.

    Before the response, everything that becomes due happens in order: mutes end, ids and offsets
    expire, group timeouts fire, delayed responses are sent.
    """
    if (body.ms is None) == (body.seconds is None):
        raise Problem(
            400, 'use either "ms" or "seconds"', location="body", example='{"seconds": 3600}'
        )
    duration_ms = body.ms if body.ms is not None else round((body.seconds or 0) * 1000)
    admin.server.timer_driver.advance(duration_ms)
    return get_clock(admin)
