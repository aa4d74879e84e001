from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from atlas.data_verdict import SEVERITY, data_verdict
from atlas.experiment import Command, Delivery, StoredRecord
from tests.atlas.observations import (
    closed,
    command,
    delivered,
    failure,
    log,
    poll,
    seen,
    send,
    undelivered,
)


def produced(
    commands: Sequence[Command],
    deliveries: Sequence[Delivery],
    records: Sequence[StoredRecord],
) -> str:
    return data_verdict(seen(commands, deliveries, records), workload="produce").data


def test_records_that_were_reported_and_stored_are_kept() -> None:
    sends = [send(1, "0"), send(2, "1")]
    assert produced(sends, [delivered(1), delivered(2)], log("0", "1", "after")) == "kept"


def test_a_record_that_was_reported_and_is_not_stored_is_lost_silently() -> None:
    verdict = data_verdict(
        seen([send(1, "0"), send(2, "1")], [delivered(1), delivered(2)], log("0")),
        workload="produce",
    )
    assert verdict.data == "lost_silently"
    assert verdict.reasons == ("lost_silently: '1' was reported as delivered",)


def test_a_reason_leaves_out_the_dots_that_fill_a_value() -> None:
    observation = seen([send(1, "0" + "." * 16_000)], [delivered(1)], [])
    [reason] = data_verdict(observation, workload="produce").reasons
    assert reason == "lost_silently: '0...' was reported as delivered"


def test_a_record_whose_retention_time_is_over_is_not_lost() -> None:
    observation = seen([send(1, "0")], [Delivery(1, 10.0, offset=4)])
    for log_start, data in ((4, "lost_silently"), (5, "kept")):
        gone = replace(observation, log_starts={("orders", 0): log_start})
        assert data_verdict(gone, workload="produce").data == data
        committed = replace(gone, commands=(BEGIN, send(1, "0"), COMMIT))
        assert data_verdict(committed, workload="transaction").data == data


def test_a_record_with_an_error_that_is_not_stored_is_lost_and_reported() -> None:
    assert produced([send(1, "0")], [undelivered(1)], []) == "lost_and_reported"
    assert produced([send(1, "0", "failed")], [], []) == "lost_and_reported"


def test_a_record_with_an_error_that_is_stored_is_kept() -> None:
    assert produced([send(1, "0")], [undelivered(1)], log("0")) == "kept"


def test_a_record_without_an_outcome_is_lost_silently_once_the_producer_is_closed() -> None:
    assert produced([send(1, "0"), closed(2)], [], []) == "lost_silently"
    assert produced([send(1, "0")], [], []) == "none"


def test_a_value_that_is_stored_twice_is_duplicated() -> None:
    assert produced([send(1, "0")], [delivered(1)], log("0", "0")) == "duplicated"


def test_records_of_other_topics_do_not_count() -> None:
    records = [*log("0"), *log("0", topic="invoices")]
    assert produced([send(1, "0")], [delivered(1)], records) == "kept"


def test_records_behind_later_ones_are_reordered() -> None:
    sends = [send(1, "0"), send(2, "1")]
    assert produced(sends, [delivered(1), delivered(2)], log("1", "0")) == "reordered"


@given(st.lists(st.sampled_from("012345"), max_size=12))
def test_the_verdict_on_a_producer_is_what_a_model_counts(stored: list[str]) -> None:
    sends = [send(int(value) + 1, value) for value in "012345"]
    deliveries = [delivered(number) for number in range(1, 7)]
    found = produced(sends, deliveries, log(*stored))
    first = list(dict.fromkeys(stored))
    if set(stored) != set("012345"):
        assert found == "lost_silently"
    elif len(stored) > 6:
        assert found == "duplicated"
    elif first != sorted(first):
        assert found == "reordered"
    else:
        assert found == "kept"


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 2)), max_size=5))
def test_the_worst_finding_decides(outcomes: list[tuple[bool, bool, int]]) -> None:
    """Each record was reported or not, with an error or not, and is stored so many times."""
    sends, deliveries, stored, expected = [], [], [], {"none"}
    for number, (is_reported, has_error, count) in enumerate(outcomes, 1):
        sends.append(send(number, str(number)))
        if is_reported:
            deliveries.append(undelivered(number) if has_error else delivered(number))
        stored += [str(number)] * count
        if count > 1:
            expected.add("duplicated")
        if count:
            expected.add("kept")
        elif is_reported:
            expected.add("lost_and_reported" if has_error else "lost_silently")
    assert produced(sends, deliveries, log(*stored)) == min(expected, key=SEVERITY.index)


# Transactions --------------------------------------------------------------------------------


def transactional(
    *commands: Command, records: Sequence[StoredRecord], deliveries: Sequence[Delivery] = ()
) -> str:
    observation = seen(commands, deliveries, records)
    return data_verdict(observation, workload="transaction").data


BEGIN = command(1, "begin_transaction")
SENDS = (send(2, "0"), send(3, "1"))
COMMIT = command(4, "commit_transaction")
FAILED_COMMIT = command(4, "commit_transaction", "failed", values=failure())
ABORT = command(5, "abort_transaction")


def test_a_committed_transaction_is_kept() -> None:
    records = log("0", "1", transaction="committed")
    assert transactional(BEGIN, *SENDS, COMMIT, records=records) == "kept"


def test_a_committed_transaction_of_which_nothing_is_visible_is_lost_silently() -> None:
    for transaction in ("aborted", "open"):
        records = log("0", "1", transaction=transaction)
        assert transactional(BEGIN, *SENDS, COMMIT, records=records) == "lost_silently"


def test_a_record_with_an_error_in_a_committed_transaction_is_lost_and_reported() -> None:
    records = log("0", transaction="committed")
    found = transactional(BEGIN, *SENDS, COMMIT, records=records, deliveries=[undelivered(3)])
    assert found == "lost_and_reported"


def test_an_aborted_transaction_that_is_visible_is_an_aborted_read() -> None:
    aborted = log("0", "1", transaction="aborted")
    assert transactional(BEGIN, *SENDS, ABORT, records=aborted) == "none"
    committed = log("0", "1", transaction="committed")
    assert transactional(BEGIN, *SENDS, ABORT, records=committed) == "aborted_read"


def test_a_commit_that_failed_may_have_committed_all_or_nothing() -> None:
    both = log("0", "1", transaction="committed")
    assert transactional(BEGIN, *SENDS, FAILED_COMMIT, records=both) == "kept"
    assert transactional(BEGIN, *SENDS, FAILED_COMMIT, records=[]) == "lost_and_reported"
    first = log("0", transaction="committed")
    assert transactional(BEGIN, *SENDS, FAILED_COMMIT, records=first) == "partly_committed"


def test_an_abort_after_a_commit_that_failed_decides() -> None:
    both = log("0", "1", transaction="committed")
    assert transactional(BEGIN, *SENDS, FAILED_COMMIT, ABORT, records=both) == "aborted_read"


def test_a_value_of_two_committed_transactions_is_duplicated() -> None:
    again = [command(6, "begin_transaction"), send(7, "0"), send(8, "1")]
    last = command(9, "commit_transaction")
    twice = log("0", "1", "0", "1", transaction="committed")
    found = transactional(BEGIN, *SENDS, FAILED_COMMIT, *again, last, records=twice)
    assert found == "duplicated"
    once = log("0", "1", transaction="committed")
    assert transactional(BEGIN, *SENDS, ABORT, *again, last, records=once) == "kept"


# Consumers -----------------------------------------------------------------------------------


def consumed(
    *polls: Command,
    records: Sequence[StoredRecord],
    isolation: str | None = None,
    expected: int = 0,
) -> str:
    observation = seen(polls, records=records)
    verdict = data_verdict(observation, workload="consume", isolation=isolation, expected=expected)
    return verdict.data


FOUR = log("0", "1", "2", "3")


def test_records_in_their_order_are_kept() -> None:
    assert consumed(poll(1, 0, 1), poll(2, 2, 3), records=FOUR, expected=4) == "kept"


def test_records_at_the_end_that_were_never_given_are_unseen() -> None:
    assert consumed(poll(1, 0, 1), poll(2), records=FOUR, expected=4) == "unseen"
    assert consumed(poll(1, 0, 1), records=FOUR, expected=2) == "kept"
    assert consumed(poll(1), records=[], expected=0) == "none"


def test_a_record_between_two_others_that_was_not_given_is_a_poll_skip() -> None:
    assert consumed(poll(1, 0, 2), records=FOUR) == "poll_skip"


def test_an_offset_without_a_record_is_no_poll_skip() -> None:
    records = [record for record in FOUR if record.offset != 1]
    assert consumed(poll(1, 0, 2, 3), records=records) == "kept"


def test_an_offset_before_the_last_one_is_a_nonmonotonic_poll() -> None:
    assert consumed(poll(1, 2), poll(2, 1), records=FOUR) == "nonmonotonic_poll"


def test_a_record_that_a_consumer_gets_twice_is_duplicated() -> None:
    assert consumed(poll(1, 0, 1), poll(2, 1, 2), records=FOUR) == "duplicated"
    assert consumed(poll(1, 0, 1), poll(2, 1, 2, consumer="d"), records=FOUR) == "kept"


def test_a_value_that_the_log_does_not_have_is_corrupted() -> None:
    assert consumed(poll(1, 0, value="x{}"), records=FOUR) == "corrupted"


def test_a_record_of_an_aborted_transaction_is_an_aborted_read_for_read_committed_only() -> None:
    records = log("0", transaction="aborted")
    assert consumed(poll(1, 0), records=records, isolation="read_committed") == "aborted_read"
    assert consumed(poll(1, 0), records=records) == "kept"


@given(st.lists(st.integers(0, 5), max_size=10))
def test_a_consumer_is_right_only_if_it_gives_each_record_once_and_in_order(
    offsets: list[int],
) -> None:
    records = log(*"012345")
    polls = [poll(number, offset) for number, offset in enumerate(offsets, 1)]
    found = consumed(*polls, records=records, expected=6)
    is_right = offsets == list(range(6))
    assert (found == "kept") == is_right


def test_a_verdict_needs_data() -> None:
    create = command(1, "create_topic", topic="new")
    assert data_verdict(seen([create]), workload="create_topic") == ("none", ())


def test_reasons_name_five_findings_and_the_number_of_others() -> None:
    sends = [send(number, str(number)) for number in range(1, 9)]
    deliveries = [delivered(number) for number in range(1, 9)]
    [reason] = data_verdict(seen(sends, deliveries), workload="produce").reasons
    assert reason.endswith("'5' was reported as delivered and 3 more")


def copied(*output: str, outcome: str = "done") -> str:
    """Return the verdict on an application that copies three records of orders to invoices."""
    opened = command(1, "streams", outcome, topic="orders", output="invoices")
    records = [*log("0", "1", "2", "after"), *log(*output, topic="invoices")]
    return data_verdict(seen([opened], records=records), workload="streams").data


def test_an_application_copies_each_record_once_and_in_order() -> None:
    assert copied("0", "1", "2", "after") == "kept"
    assert copied("0", "1", "1", "2") == "duplicated"
    assert copied("0", "2", "1") == "reordered"
    assert copied("0", "2") == "unseen"
    assert copied(outcome="unsupported") == "none"
