"""Actions of fault rules on how bytes are sent: rates, pieces, and wrong frames of responses."""

from dataclasses import dataclass

from broker.faults.fields import (
    Declared,
    declare,
    declare_required,
    duration_ms,
    whole,
)


@dataclass(frozen=True, slots=True)
class LimitBandwidth(Declared):
    """Delay the response as a slow link would."""

    bytes_per_second: int = declare_required(
        whole(1),
        "the response at the time at which a link of this rate has sent request and response",
    )


@dataclass(frozen=True, slots=True)
class LimitRequestBandwidth(Declared):
    """Delay the handling as a slow link to the broker would."""

    request_bytes_per_second: int = declare_required(
        whole(1), "the request at the time at which a link of this rate has sent it"
    )


@dataclass(frozen=True, slots=True)
class LimitResponseBandwidth(Declared):
    """Delay the response as a slow link to the client would."""

    response_bytes_per_second: int = declare_required(
        whole(1), "the response at the time at which a link of this rate has sent it"
    )


@dataclass(frozen=True, slots=True)
class Trickle(Declared):
    """Send the response in small pieces."""

    trickle_bytes: int = declare_required(
        whole(1), "the response in pieces of so many bytes, one after the other"
    )
    trickle_ms: int = declare(duration_ms(1), "the time between two pieces", 100)


@dataclass(frozen=True, slots=True)
class Truncate(Declared):
    """Cut off the end of the response."""

    truncate_bytes: int = declare_required(
        whole(1), "a response without its last bytes, whose size is the size of the rest"
    )


@dataclass(frozen=True, slots=True)
class Corrupt(Declared):
    """Change bytes of the response."""

    corrupt_bytes: int = declare_required(
        whole(1), "a response with this many bytes changed, after the correlation id"
    )


@dataclass(frozen=True, slots=True)
class Oversize(Declared):
    """Append zeros to the response."""

    oversize_bytes: int = declare_required(
        whole(1, 1 << 28), "the response with this many zeros appended, included in its size"
    )


@dataclass(frozen=True, slots=True)
class AnnounceSize(Declared):
    """Send a wrong size in front of the response."""

    announce_bytes: int = declare_required(
        whole(-(1 << 31)), "the response with this number as its size, which may be negative"
    )
