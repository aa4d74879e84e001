"""Requests that were sent together."""

from loadgen.clients.burst import Burst, Resend
from loadgen.clients.load_client import Event
from loadgen.rows import EVENT_STEP, Rows

BURST = Burst(
    7, 2**31 - 2, 30, 1, 900, 70, 4, 0, b"", range(5, 5 + 3 * EVENT_STEP, EVENT_STEP), 800, 850, 9
)


def test_the_numbers_of_the_first_request_grow() -> None:
    later = BURST.after(2, 3)
    assert (later.order, later.sequence, later.correlation_id) == (9, 4, 32)
    assert list(later.event_ids) == [5 + 2 * EVENT_STEP]
    assert list(BURST.first().event_ids) == [5]


def test_without_idempotence_there_are_no_sequences() -> None:
    plain = BURST._replace(producer_id=-1, epoch=-1, sequence=-1)
    assert plain.after(1, 3).sequence == -1


def test_the_first_batch_can_be_sent_again() -> None:
    assert BURST.to_resend() == Resend(7, Event(5, 800, 850, 9), 2**31 - 2, 1)


def test_the_row_of_a_request_without_a_response_begins() -> None:
    rows = Rows()
    stamp = rows.stamp(
        client=0, api=0, version=9, topic=0, partition=0, records=3, request_bytes=1, node=1
    )
    BURST._replace(stamp=stamp).begin_row(rows)
    assert len(rows) == 1
