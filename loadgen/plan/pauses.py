"""Pauses of a tenant's consumers, in which a backlog grows that they then drain."""

from typing import Annotated

from msgspec import Meta, Struct

PauseSeconds = Annotated[float, Meta(gt=0, le=86_400)]
PauseStart = Annotated[float, Meta(ge=0, le=86_400)]


class Pause(Struct, frozen=True, forbid_unknown_fields=True):
    """A time in which the members of a group keep their places and read nothing."""

    at_s: PauseStart
    """When it begins, in seconds from the beginning of the measured part."""
    for_s: PauseSeconds
    recovers_within_s: PauseSeconds | None = None
    """The limit for the time from the end of the pause until they have caught up."""
    drain_records_per_s_min: Annotated[float, Meta(gt=0, le=1e12)] | None = None
    """The lowest rate at which they must read in that time."""

    @property
    def end_s(self) -> float:
        """When they read again."""
        return self.at_s + self.for_s


def pause_at(pauses: tuple[Pause, ...], time_s: float) -> Pause | None:
    """Return the pause at a time; None if the consumers read then."""
    return next((pause for pause in pauses if pause.at_s <= time_s < pause.end_s), None)
