"""A recorded run leaves the same behind as a shared run, and lines of the journal."""

from broker.dispatch.recorded_run import RecordedRun
from broker.journal.journal import Entry, Outcome
from tests.broker.dispatch.produce_runs import Produce, Run, counted_calls


def recorded_run() -> Run:
    """Return connections whose next requests are handled at once."""
    made = Run()
    made.do(("keep_journal", True))
    for _ in range(6):
        made.do(Produce())
        made.do(Produce(connection=1))
    return made


def test_each_connection_has_one_of_its_own_for_the_run_that_they_share() -> None:
    made = recorded_run()

    first, second, _ = (connection._responder for connection in made.connections)
    assert isinstance(first, RecordedRun)
    assert isinstance(second, RecordedRun)
    assert first is not second
    assert first.run is second.run


def test_a_request_that_is_handled_at_once_is_recorded() -> None:
    made = recorded_run()
    with counted_calls(RecordedRun, "respond_at_once") as responses:
        made.do(Produce(connection=1))

    *_, entry = made.dispatcher.journal
    assert isinstance(entry, Entry)
    assert [entry.response] == responses
    assert (entry.outcome, entry.context.connection_id) == (Outcome.RESPONDED, 2)


def test_a_journal_that_is_disabled_gets_nothing() -> None:
    made = recorded_run()
    count = len(made.dispatcher.journal)
    made.do(("keep_journal", False))
    for _ in range(6):
        made.do(Produce())

    assert len(made.dispatcher.journal) == count
