from atlas.rows import events_of, request_rows
from atlas.timeline import as_text, timeline
from tests.atlas.test_rows import OBSERVATION


def test_a_timeline_has_what_was_asked_seen_and_heard_in_the_order_of_time() -> None:
    lines = timeline(events_of(OBSERVATION), request_rows("id", OBSERVATION))
    assert [at_ms for at_ms, _, _ in lines] == sorted(at_ms for at_ms, _, _ in lines)
    assert as_text(lines) == [
        "      0.0 ms  asks    send topic=orders partition=0 value=0 producer=p",
        "      0.0 ms  asks    poll consumer=c",
        "      1.0 ms  hears   send done",
        "      1.0 ms  hears   poll done records=2",
        "     10.0 ms  hears   send 1 delivered at offset 0",
        "     10.0 ms  hears   send 2 undelivered: SomeError (retriable)",
        "     12.0 ms  broker  #7 Produce v13 -> responded CORRUPT_MESSAGE after 1.5 ms",
    ]
