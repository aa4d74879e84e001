"""Differences that may only be ones of time, and whether they last.

Two clusters do the same at different times: a rebalance begins earlier, a new topic is known later.
Such a difference counts if it stays while the question is asked again.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from protocol.errors import ErrorCode
from proxy.diff.field_comparison import FieldDifference

LASTING_COUNT_MIN = 3
LASTING_MS_MIN = 5000
"""So often, and over so long, a difference of time must be seen to count as one."""

_ENDING = "transactions end a moment after the response"
_REBALANCE = frozenset(
    {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION}
)


@dataclass(frozen=True, slots=True)
class TimingRule:
    """Fields that change by themselves; `may` limits the rule to some pairs of values."""

    api: str
    path: str
    reason: str
    may: Callable[[Any, Any], bool] | None = None


def _is_stable_in_one(real: Any, ours: Any) -> bool:
    return {real, ours} == {ErrorCode.NONE, ErrorCode.UNSTABLE_OFFSET_COMMIT}


def _in_rebalance(real: Any, ours: Any) -> bool:
    return real in _REBALANCE and ours in _REBALANCE


TIMING_RULES: tuple[TimingRule, ...] = (
    *(
        TimingRule(api, "*error_code", "a rebalance begins or ends earlier in one", _in_rebalance)
        for api in ("Heartbeat", "JoinGroup", "OffsetCommit", "SyncGroup", "TxnOffsetCommit")
    ),
    TimingRule(
        "Produce",
        "*log_start_offset",
        "retention and DeleteRecords move the start of a log before or after the request",
    ),
    *(
        TimingRule(api, "*", "a coordinator assigns partitions in a later heartbeat")
        for api in ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
    ),
    *(
        TimingRule(api, "*", "groups change their states by themselves")
        for api in (
            "ConsumerGroupDescribe",
            "DescribeGroups",
            "ListGroups",
            "ShareGroupDescribe",
            "StreamsGroupDescribe",
        )
    ),
    TimingRule("OffsetFetch", "*error_code", _ENDING, _is_stable_in_one),
    *(
        TimingRule(api, "*", _ENDING)
        for api in ("DescribeProducers", "DescribeTransactions", "ListTransactions")
    ),
)


def timing_reason(difference: FieldDifference) -> str | None:
    """Return why a difference may be one of time, or None."""
    if difference.kind == "connection":
        return None
    path = difference.path.replace("[]", "")
    for rule in TIMING_RULES:
        if (
            rule.api == difference.api
            and fnmatchcase(path, rule.path)
            and (rule.may is None or rule.may(difference.kafka, difference.ours))
        ):
            return rule.reason
    return None


@dataclass(slots=True)
class Suspect:
    """A difference that may be one of time; `note` reports it if it lasts."""

    difference: FieldDifference
    reason: str
    first_ms: int
    last_ms: int
    note: Callable[[], None]
    count: int = 1

    @property
    def has_lasted(self) -> bool:
        """Whether it is no difference of time."""
        is_long = self.last_ms - self.first_ms >= LASTING_MS_MIN
        return is_long and self.count >= LASTING_COUNT_MIN


class Suspects:
    """The differences of time that have not gone yet, by the question that was asked."""

    def __init__(self) -> None:
        self._by_question: dict[Hashable, dict[str, Suspect]] = {}
        self.settled: dict[str, int] = {}
        """How many have gone, by reason."""

    def see(self, question: Hashable, found: list[Suspect], now_ms: int) -> None:
        """Take the suspects among the differences of one answer; those not among them have gone."""
        known = self._by_question.pop(question, {})
        still: dict[str, Suspect] = {}
        for suspect in found:
            place = suspect.difference.place
            before = known.pop(place, None)
            if before is not None:
                before.count, before.last_ms = before.count + 1, now_ms
                suspect = before  # noqa: PLW2901 - its first request shows the difference
            if suspect.has_lasted:
                suspect.note()
            else:
                still[place] = suspect
        for gone in known.values():
            self.settled[gone.reason] = self.settled.get(gone.reason, 0) + gone.count
        if still:
            self._by_question[question] = still

    def unsettled(self) -> list[Suspect]:
        """Return those that were not asked about again."""
        return [suspect for found in self._by_question.values() for suspect in found.values()]
