from typing import Any

from atlas.steps import Reply, Session, Step
from atlas.transaction_workloads import process, transaction
from tests.atlas.scripted_replies import failing, follow, names, polling

AFTERWARDS = [
    "heal",
    "begin_transaction afterwards",
    "send afterwards",
    "commit_transaction afterwards",
    "close close",
]


def run(*failures: str, **arguments: Any) -> tuple[list[str], Session]:
    session = Session(arguments, {"orders": 1})
    return names(follow(transaction(session), session, failing(*failures))), session


def test_transactions_are_committed_one_after_the_other() -> None:
    found, session = run(transactions=2, records=1)
    one = ["begin_transaction", "send", "commit_transaction"]
    assert found == ["producer", *one, *one, *AFTERWARDS]
    assert session.is_usable


def test_a_transaction_may_be_aborted_or_abandoned() -> None:
    found, _ = run(records=1, end="abort")
    assert found == ["producer", "begin_transaction", "send", "abort_transaction", *AFTERWARDS]
    found, session = run(records=1, abandon=True, pause_ms=5)
    main = ["producer", "begin_transaction", "send", "sleep", "flush"]
    assert found == [*main, "close close"]
    assert session.is_usable is None


def test_a_commit_that_fails_is_aborted_afterwards() -> None:
    found, session = run("commit_transaction", records=1, transactions=3)
    main = ["producer", "begin_transaction", "send", "commit_transaction"]
    assert found == [*main, AFTERWARDS[0], "abort_transaction afterwards", *AFTERWARDS[1:]]
    assert session.is_usable is False


def test_a_producer_that_begins_no_transaction_is_not_usable() -> None:
    found, session = run("begin_transaction")
    assert found == ["producer", "begin_transaction", *AFTERWARDS[:2], "close close"]
    assert session.is_usable is False


def processed(*failures: str) -> list[Step]:
    session = Session({}, {"orders": 1}, {"orders": 2})
    failed: set[str] = set()
    polls = polling([0, 1], [0, 1])

    def answer(step: Step) -> Reply | None:
        """Have each command of `failures` fail once."""
        if step.name in failures and step.name not in failed:
            failed.add(step.name)
            return Reply(0, "failed", {})
        return polls(step)

    return follow(process(session), session, answer)


COPY = ["begin_transaction", "send", "send", "send_offsets"]


def test_records_are_copied_with_their_offsets() -> None:
    steps = processed()
    main = ["producer", "consumer", "poll", *COPY, "commit_transaction"]
    assert names(steps) == [*main, *AFTERWARDS, "close close"]
    offsets = next(step for step in steps if step.name == "send_offsets").arguments["offsets"]
    assert offsets == {"orders": {"0": 2}}
    sends = [step for step in steps if step.name == "send"]
    assert {step.arguments["topic"] for step in sends} == {"invoices"}


def test_after_an_error_it_aborts_and_goes_back() -> None:
    steps = processed("send_offsets")
    again = ["abort_transaction", "seek", "poll", *COPY, "commit_transaction"]
    main = ["producer", "consumer", "poll", *COPY, *again]
    assert names(steps) == [*main, *AFTERWARDS, "close close"]
    seek = next(step for step in steps if step.name == "seek")
    assert seek.arguments["offset"] == 0


def test_an_abort_that_fails_ends_it() -> None:
    steps = processed("commit_transaction", "abort_transaction")
    found = names(steps)
    assert found.count("begin_transaction") == 1
    assert "abort_transaction afterwards" in found
