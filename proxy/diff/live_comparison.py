"""Compare the responses of a real cluster and of our broker to one request."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from protocol.request_targets import request_targets
from proxy.diff.field_comparison import ERROR_CODE, FieldDifference, compare_responses, find_allowed
from proxy.diff.id_map import IdMap
from proxy.diff.live_differences import allowed_live, without_moving_fields
from proxy.diff.not_ready import not_ready
from proxy.diff.played_request import PlayedRequest
from proxy.diff.recent_changes import UNKNOWN_ERRORS, RecentChanges
from proxy.diff.report import Report
from proxy.diff.response_ids import ResponseIds
from proxy.diff.timing import Suspect, Suspects, timing_reason

Allowance = Callable[[PlayedRequest, FieldDifference], str | None]
"""Returns why a difference in the response to a request may be, or None."""

_Reasons = tuple[str | None, str | None]
"""Why a difference may be, and why it may be for a while only."""


class LiveComparison:
    """Compares request by request, and reports what differs."""

    def __init__(
        self,
        ids: IdMap,
        report: Report,
        broker_count: int,
        release: str,
        changes: RecentChanges,
    ) -> None:
        """`release` is that of the real cluster, such as `4.4`."""
        self._ids = ids
        self._report = report
        self._broker_count = broker_count
        self._release = release
        self._changes = changes
        self._suspects = Suspects()
        self.allowances: list[Allowance] = []
        """Further reasons for which something may differ."""

    def compare(self, compared: PlayedRequest, now_ms: int) -> tuple[Any, Any]:
        """Compare both responses; return their fields, both with the ids of the real cluster."""
        real, ours = compared.values_of(compared.real), compared.values_of(compared.ours)
        api, arguments = compared.api, compared.arguments
        translated = ResponseIds(self._ids, api, arguments, now_ms).with_real_ids(real, ours)
        found: list[FieldDifference] = []
        settled = without_moving_fields(api, real, translated)
        fields = compare_responses(api, *settled, found.append)
        self._judge(compared, found, fields, now_ms)
        return real, translated

    def _judge(
        self, compared: PlayedRequest, found: list[FieldDifference], fields: int, now_ms: int
    ) -> None:
        api_report, topics = self._report.of(compared.api), self._topics_of(compared)
        may_be_unknown = _may_be_unknown(found)
        suspects, is_same = [], True
        explained: dict[str, _Reasons] = {}
        """By the part of the response: the reasons for which its error code may differ."""
        for difference in sorted(found, key=_is_error, reverse=True):
            reasons = _reasons_of_part(explained, difference) or (
                self._allowed(compared, difference),
                timing_reason(difference)
                or self._changes.setting_reason(difference, now_ms)
                or (may_be_unknown and self._changes.topic_reason(difference, topics, now_ms))
                or None,
            )
            if _is_error(difference) and any(reasons):
                explained[difference.place.removesuffix(ERROR_CODE)] = reasons
            allowed, timing = reasons
            if allowed is not None:
                api_report.allowed[allowed] += 1
            elif timing is not None:
                api_report.timing[timing] += 1
                suspects.append(self._suspect(compared, difference, timing, now_ms))
            else:
                is_same = False
                self._report.differs(compared, difference)
        question = (compared.api, _question_of(compared), frozenset(topics))
        self._suspects.see(question, suspects, now_ms)
        self._report.compared(compared.api, fields, is_same=is_same)

    def _suspect(
        self, compared: PlayedRequest, difference: FieldDifference, reason: str, now_ms: int
    ) -> Suspect:
        def note() -> None:
            self._report.differs(compared, difference)

        return Suspect(difference, reason, now_ms, now_ms, note)

    def _allowed(self, compared: PlayedRequest, difference: FieldDifference) -> str | None:
        arguments = compared.arguments
        allowed = find_allowed(difference, arguments, self._broker_count, self._release)
        if allowed is not None:
            return allowed.reason
        reasons = (allowance(compared, difference) for allowance in self.allowances)
        live = allowed_live(difference, arguments) or not_ready(difference)
        return live or next(filter(None, reasons), None)

    def _topics_of(self, compared: PlayedRequest) -> set[str]:
        if compared.request is None:
            return set()
        return {str(topic) for topic in request_targets(compared.request).topics}

    def end(self) -> None:
        """Report the differences of time about which nobody has asked again."""
        for suspect in self._suspects.unsettled():
            self._report.unsettled[suspect.difference.signature] += suspect.count


def _question_of(compared: PlayedRequest) -> Hashable:
    """Return what a request asks about beside topics: equal questions should agree in time."""
    if compared.request is None:
        return None
    targets = request_targets(compared.request)
    return targets.groups, targets.transactional_ids, compared.arguments.get("member_id")


def _is_error(difference: FieldDifference) -> bool:
    return difference.path.endswith(ERROR_CODE)


def _reasons_of_part(
    explained: Mapping[str, _Reasons], difference: FieldDifference
) -> _Reasons | None:
    """Return the reasons of the error in the same part of a response: other fields follow it."""
    return next((why for part, why in explained.items() if difference.place.startswith(part)), None)


def _may_be_unknown(found: list[FieldDifference]) -> bool:
    """Whether one of both does not know a topic or partition, and the other one does."""
    return any(
        difference.kind in {"missing", "extra"}
        or (
            _is_error(difference)
            and not UNKNOWN_ERRORS.isdisjoint({difference.kafka, difference.ours})
        )
        for difference in found
    )
