"""The delivery timeout of every client in every phase: the time from send to callback.

KIP-91 promises that a record has an outcome `delivery.timeout.ms` after its send, wherever it is
then. `phases.py` has the places where a record can be stuck, `client_adapters.py` the clients.
`measuring.py` measures each client in each phase, and `timeline.py` draws.
"""

from pathlib import Path

from scenarios.delivery_timeout.client_adapters import SUBJECTS
from scenarios.delivery_timeout.measuring import Measurement, measure
from scenarios.delivery_timeout.phases import PHASES
from scenarios.delivery_timeout.timeline import draw
from scenarios.picture import require_matplotlib
from scenarios.table import text_table

DEADLINE_MS = 1_000
OVERSHOOT_TOLERATED_MS = 500
"""On a busy machine threads run late, which says nothing about the client."""

HEADER = ("phase", "client", "heard after", "outcome", "requests", "stored", "in order")


def run(out: Path | None) -> int:
    """Measure all, print a table, and draw a picture of each phase into `out`.

    Returns 1 when our own producer broke its promise.
    """
    if out is not None:
        require_matplotlib()
    measurements = measure(PHASES, SUBJECTS, DEADLINE_MS)
    print(f"delivery.timeout.ms={DEADLINE_MS}; outcomes are in each client's own words.\n")
    print(text_table(HEADER, [row(measurement) for measurement in measurements]))
    for phase in PHASES if out is not None else ():
        assert out is not None
        those = [measurement for measurement in measurements if measurement.phase == phase.name]
        print(draw(phase, those, DEADLINE_MS, out))
    broken = [reason for measurement in measurements for reason in broken_promises(measurement)]
    print("\n".join(["", *broken]) if broken else "\nour producer kept its promise in every phase")
    return 1 if broken else 0


def row(measured: Measurement) -> tuple[str, ...]:
    """Return a line of the table."""
    heard_ms = measured.heard_after_ms
    return (
        measured.phase,
        measured.subject,
        "-" if heard_ms is None else f"{heard_ms} ms ({heard_ms - DEADLINE_MS:+d})",
        measured.outcome,
        str(len(measured.produce_requests)),
        "twice!" if measured.stored_max > 1 else f"{measured.stored_count}/{measured.sent_count}",
        "yes" if measured.is_in_order else "no",
    )


def broken_promises(measured: Measurement) -> list[str]:
    """Return which promises our producer broke; nothing for another client."""
    if not measured.is_ours:
        return []
    place = f"{measured.phase}: "
    broken = []
    if measured.heard_after_ms is None:
        broken.append(f"{place}a record has no outcome")
    elif measured.heard_after_ms > DEADLINE_MS + OVERSHOOT_TOLERATED_MS:
        broken.append(f"{place}heard after {measured.heard_after_ms} ms")
    if measured.stored_max > 1:
        broken.append(f"{place}a record is stored twice")
    if not measured.is_in_order:
        broken.append(f"{place}outcomes out of order with one request in flight")
    return broken
