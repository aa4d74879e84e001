"""The verdict about the data: what the caller heard of each record against what the log has.

It never believes the client alone. Names of what consumers see are those of Jepsen's tests of Kafka
(`unseen`, `poll-skip`, `nonmonotonic-poll`) and of Adya's G1a (`aborted_read`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from atlas.experiment import Command, Observation, StoredRecord
from atlas.reading_workloads import AFTER, REBALANCED

SEVERITY = (
    "lost_silently",
    "aborted_read",
    "corrupted",
    "duplicated",
    "partly_committed",
    "poll_skip",
    "nonmonotonic_poll",
    "reordered",
    "unseen",
    "lost_and_reported",
    "kept",
    "none",
)
"""The worst first; the verdict is the worst that was found."""
WRITTEN_BY_LANE = frozenset({AFTER, REBALANCED})
_SAMPLES_MAX = 5
_PADDING = re.compile(r"\.{4,}")
"""Workloads fill values up to `value_bytes` with dots."""
_ENDS = {"commit_transaction", "abort_transaction"}


class DataVerdict(NamedTuple):
    """One of `SEVERITY`, and a line for each finding that is worse than `kept`."""

    data: str
    reasons: tuple[str, ...]


class _Sent(NamedTuple):
    topic: str
    value: str
    has_succeeded: bool
    has_failed: bool
    is_deleted: bool
    """Whether the log begins behind the offset that was reported."""


def data_verdict(
    observation: Observation, *, workload: str, isolation: str | None = None, expected: int = 0
) -> DataVerdict:
    """Return what happened to the data of a workload.

    Args:
        observation: commands, deliveries and the log at the end.
        workload: its name; `transaction` and `process` write in transactions, `streams` copies.
        isolation: the isolation level of its consumers.
        expected: how many records its consumers should read.
    """
    main = [command for command in observation.commands if command.phase == "main"]
    if workload in {"transaction", "process"}:
        found = _transactions(main, observation)
    elif workload == "streams":
        found = _copied(main, observation.records)
    elif any(command.name == "send" for command in main):
        found = _produced(main, observation)
    elif any(command.name == "poll" for command in main):
        found = _consumed(main, observation.records, isolation, expected)
    else:
        found = iter(())
    return _worst(found)


def _worst(found: Iterable[tuple[str, str]]) -> DataVerdict:
    by_kind: dict[str, list[str]] = {}
    for kind, detail in found:
        by_kind.setdefault(kind, []).append(detail)
    kinds = sorted(by_kind, key=SEVERITY.index)
    reasons = []
    for kind in kinds:
        details = [detail for detail in by_kind[kind] if detail]
        if kind not in {"kept", "none"}:
            more = f" and {len(details) - _SAMPLES_MAX} more" * (len(details) > _SAMPLES_MAX)
            samples = _PADDING.sub("...", ", ".join(details[:_SAMPLES_MAX]))
            reasons.append(f"{kind}: {samples}{more}")
    return DataVerdict(kinds[0] if kinds else "none", tuple(reasons))


def _sent(command: Command, observation: Observation) -> _Sent:
    outcomes = [one for one in observation.deliveries if one.send == command.number]
    has_failed = command.outcome == "failed" or any(one.error is not None for one in outcomes)
    has_succeeded = any(one.error is None for one in outcomes)
    arguments = command.arguments
    log_start = observation.log_starts.get((arguments["topic"], arguments["partition"]), 0)
    is_deleted = any(0 <= (one.offset or 0) < log_start for one in outcomes if one.error is None)
    return _Sent(arguments["topic"], arguments["value"], has_succeeded, has_failed, is_deleted)


def _written(main: Sequence[Command], records: Iterable[StoredRecord]) -> list[StoredRecord]:
    """Return the records of the topics to which the client sends."""
    topics = {command.arguments["topic"] for command in main if command.name == "send"}
    return [record for record in records if record.topic in topics]


def _produced(main: Sequence[Command], observation: Observation) -> Iterator[tuple[str, str]]:
    """Judge records outside of transactions, each of which has another value."""
    sends = [_sent(command, observation) for command in main if command.name == "send"]
    records = _written(main, observation.records)
    stored = Counter(record.value for record in records)
    is_closed = any(
        command.name == "close" and command.outcome == "done" for command in observation.commands
    )
    for sent in sends:
        count = stored[sent.value]
        if count > 1:
            yield "duplicated", f"{sent.value!r} is stored {count} times"
        if count or sent.is_deleted:
            yield "kept", ""
        elif sent.has_succeeded:
            yield "lost_silently", f"{sent.value!r} was reported as delivered"
        elif sent.has_failed:
            yield "lost_and_reported", repr(sent.value)
        elif is_closed:
            yield "lost_silently", f"{sent.value!r} was never reported, and the producer closed"
    order = {sent.value: index for index, sent in enumerate(sends)}
    yield from _reordered(records, order)


def _copied(main: Sequence[Command], records: Sequence[StoredRecord]) -> Iterator[tuple[str, str]]:
    """Judge what an application has copied from a topic into another one, value by value."""
    for command in main:
        if command.name != "streams" or command.outcome != "done":
            continue
        given, output = (
            [record for record in records if record.topic == command.arguments[name]]
            for name in ("topic", "output")
        )
        stored = Counter(record.value for record in output)
        values = [one.value for one in given if one.value not in WRITTEN_BY_LANE]
        for value in values:
            if stored[value] > 1:
                yield "duplicated", f"{value!r} is stored {stored[value]} times"
            yield ("kept", "") if stored[value] else ("unseen", f"{value!r} was not copied")
        yield from _reordered(output, {value: i for i, value in enumerate(values) if value})


def _reordered(records: Iterable[StoredRecord], order: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Compare the first place of each value in a partition with the order of the sends."""
    last: dict[tuple[str, int], int] = {}
    seen: set[str] = set()
    for record in records:
        if record.value not in order or record.value in seen:
            continue
        seen.add(record.value)
        partition = (record.topic, record.partition)
        index = order[record.value]
        if index < last.get(partition, -1):
            yield "reordered", f"{record.value!r} is at offset {record.offset}"
        last[partition] = max(index, last.get(partition, -1))


def _transactions(main: Sequence[Command], observation: Observation) -> Iterator[tuple[str, str]]:
    """Judge records in transactions by what a consumer with read_committed sees."""
    visible = Counter(
        record.value
        for record in _written(main, observation.records)
        if record.transaction in {None, "committed"}
    )
    tally = _Tally()
    for end, commands in _by_transaction(main):
        sends = [_sent(command, observation) for command in commands]
        is_undecided = tally.add(end, sends)
        shown = [sent.value for sent in sends if visible[sent.value]]
        if is_undecided and shown and len(shown) < len(sends):
            yield "partly_committed", f"{', '.join(shown)} of {len(sends)} records"
    for value in tally.values:
        count = visible[value]
        if count > 1:
            yield "duplicated", f"{value!r} is committed {count} times"
        if count and not tally.committed[value] and not tally.undecided[value]:
            yield "aborted_read", f"{value!r} is visible, its transaction was aborted"
        elif count or value in tally.deleted:
            yield "kept", ""
        elif tally.committed[value]:
            kind = "lost_and_reported" if value in tally.failed else "lost_silently"
            yield kind, f"{value!r} was sent in a committed transaction"
        elif value in tally.reported:
            yield "lost_and_reported", repr(value)


class _Tally:
    """How the transactions with a value ended, as the caller heard it.

    `committed` and `undecided` count transactions by value. `failed` has the values of which the
    client reported an error, `reported` those of undecided transactions with an error, `deleted`
    those that were in the log.
    """

    def __init__(self) -> None:
        self.values: dict[str, None] = {}
        self.committed: Counter[str] = Counter()
        self.undecided: Counter[str] = Counter()
        self.failed: set[str] = set()
        self.reported: set[str] = set()
        self.deleted: set[str] = set()

    def add(self, end: Command | None, sends: Sequence[_Sent]) -> bool:
        """Add a transaction; return whether it may be committed or not."""
        values = [sent.value for sent in sends]
        self.values.update(dict.fromkeys(values))
        self.deleted |= {sent.value for sent in sends if sent.is_deleted}
        self.failed |= {sent.value for sent in sends if sent.has_failed}
        if end is not None and end.outcome == "done":
            if end.name == "commit_transaction":
                self.committed.update(values)
            return False
        self.undecided.update(values)
        if end is not None and end.outcome == "failed":
            self.reported.update(values)
        return True


def _by_transaction(
    main: Sequence[Command],
) -> Iterator[tuple[Command | None, list[Command]]]:
    """Yield the command that ended a transaction (None if none did), and its sends.

    If it was committed without success and then aborted, then the abort ended it.
    """
    sends: list[Command] = []
    end: Command | None = None
    for command in main:
        if command.name == "begin_transaction":
            if sends:
                yield end, sends
            sends, end = [], None
        elif command.name == "send":
            sends.append(command)
        elif command.name in _ENDS and (end is None or command.outcome == "done"):
            end = command
    if sends:
        yield end, sends


def _consumed(
    main: Sequence[Command], records: Sequence[StoredRecord], isolation: str | None, expected: int
) -> Iterator[tuple[str, str]]:
    """Judge what consumers were given against the log."""
    log = {(record.topic, record.partition, record.offset): record for record in records}
    given: list[tuple[str, Any]] = []
    for command in main:
        if command.name == "poll":
            consumer = command.arguments["consumer"]
            given += [(consumer, record) for record in command.values.get("records", ())]
    polled = {(one["topic"], one["partition"], one["offset"]) for _, one in given}
    visible = {
        place
        for place, record in log.items()
        if isolation != "read_committed" or record.transaction in {None, "committed"}
    }
    last: dict[Any, int] = {}
    seen: set[Any] = set()
    for consumer, one in given:
        place = (one["topic"], one["partition"], one["offset"])
        name = f"{one['topic']}-{one['partition']}@{one['offset']}"
        record = log.get(place)
        if record is not None and record.transaction == "aborted" and place not in visible:
            yield "aborted_read", name
        elif record is not None and record.value != one["value"]:
            yield "corrupted", f"{name} is {one['value']!r}, the log has {record.value!r}"
        key = (consumer, *place[:2])
        before = last.get(key, -1)
        if (consumer, place) in seen:
            yield "duplicated", f"{name} was given to {consumer!r} twice"
        elif place[2] < before:
            yield "nonmonotonic_poll", f"{name} after {before}"
        elif before >= 0:
            gap = ((*place[:2], offset) for offset in range(before + 1, place[2]))
            if any(missing in visible and missing not in polled for missing in gap):
                yield "poll_skip", f"{name} after {before}"
        seen.add((consumer, place))
        last[key] = max(before, place[2])
        yield "kept", ""
    unseen = [
        f"{place[0]}-{place[1]}@{place[2]}"
        for place in sorted(visible - polled)
        if log[place].value not in WRITTEN_BY_LANE and not place[0].startswith("__")
    ]
    if len(polled) < expected:
        for name in unseen:
            yield "unseen", name
