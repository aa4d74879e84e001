from atlas.experiment import Experiment, Manners, Result
from atlas.rows import events_of, request_rows
from atlas.situation import Expectation, Situation
from atlas.timeline import as_text, summary, timeline
from tests.atlas.observations import command, poll, request, seen, send, undelivered

OBSERVATION = seen(
    [
        command(1, "producer", ended_ms=2.0, id="p", values={"ignored": []}),
        send(2, "0"),
        poll(3, 0, 1),
        command(4, "flush", "unanswered", sent_ms=30.0, producer="p"),
    ],
    [undelivered(2, "timeout", 20.0)],
    requests=[request(1, 5, "Produce", "NOT_LEADER_OR_FOLLOWER", throttle_time_ms=7)],
)


def test_the_lines_are_in_the_order_of_time() -> None:
    found = timeline(events_of(OBSERVATION), request_rows("id", OBSERVATION))
    times = [at_ms for at_ms, _, _ in found]
    lines = as_text(found)
    assert times == sorted(times)
    assert len(lines) == 9
    assert "5.0 ms  broker  #1 Produce v9 orders -> responded NOT_LEADER_OR_FOLLOWER" in lines[6]
    assert lines[6].endswith("after 1.0 ms throttled 7 ms")
    assert lines[7].endswith("hears   send 2 undelivered: SomeError (timeout)")
    assert lines[8].endswith("asks    flush producer=p")
    assert any(line.endswith("poll done records=2") for line in lines)


def test_the_summary_has_each_verdict_and_the_reasons() -> None:
    situation = Situation(
        id="BROKER-1",
        title="a situation of a test",
        area="producer",
        workload="produce",
        expect=Expectation(),
    )
    result = Result(
        experiment=Experiment("kafka-python", situation),
        client_version="3",
        cell="differs",
        reasons=("it is slow",),
        data="kept",
        manners=Manners(2, 50.0, None, "fatal", "TooBad", "fatal", "cleanly", None, None),
        observation=OBSERVATION,
        log="",
        started_ms=0,
        duration_ms=12,
    )
    lines = summary(result)
    assert "cell      differs" in lines
    assert "reported  fatal (TooBad)" in lines
    assert "outcome   none" in lines
    assert "usable    not asked" in lines
    assert lines[-1] == "  it is slow"
