"""Compare the responses of a real cluster and of our broker to one request."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from protocol.request_targets import request_targets
from proxy.diff.field_comparison import FieldDifference, compare_responses, find_allowed
from proxy.diff.id_map import IdMap
from proxy.diff.live_differences import allowed_live, without_moving_fields
from proxy.diff.played_request import PlayedRequest
from proxy.diff.report import Report
from proxy.diff.response_ids import ResponseIds
from proxy.diff.timing import UNKNOWN_ERRORS, Suspect, Suspects, timing_reason

ChangedTopics = Callable[[int], set[str]]
"""Returns names and ids of the topics that were created or deleted shortly before a time."""


class LiveComparison:
    """Compares request by request, and reports what differs."""

    def __init__(
        self,
        ids: IdMap,
        report: Report,
        broker_count: int,
        release: str,
        changed_topics: ChangedTopics,
    ) -> None:
        """`release` is that of the real cluster, such as `4.4`."""
        self._ids = ids
        self._report = report
        self._broker_count = broker_count
        self._release = release
        self._changed_topics = changed_topics
        self._suspects = Suspects()
        self.is_not_recorded: Callable[[PlayedRequest, FieldDifference], str | None] = (
            _all_is_recorded
        )
        """Returns why a difference is one of the record alone, or None."""

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
        api_report, arguments = self._report.of(compared.api), compared.arguments
        topics = self._topics_of(compared)
        changed_topics = self._changed_topics(now_ms) if _may_be_unknown(found) else set()
        suspects, is_same = [], True
        for difference in found:
            reason = self._allowed(compared, difference, arguments)
            if reason is not None:
                api_report.allowed[reason] += 1
                continue
            is_of_changed = not topics.isdisjoint(changed_topics) or any(
                topic in difference.place for topic in changed_topics
            )
            reason = timing_reason(difference, is_of_changed_topic=is_of_changed)
            if reason is None:
                is_same = False
                self._report.differs(compared, difference)
                continue
            api_report.timing[reason] += 1
            suspects.append(self._suspect(compared, difference, reason, now_ms))
        question = (compared.api, _question_of(compared), frozenset(topics))
        self._suspects.see(question, suspects, now_ms)
        self._report.compared(compared.api, fields, is_same=is_same)

    def _suspect(
        self, compared: PlayedRequest, difference: FieldDifference, reason: str, now_ms: int
    ) -> Suspect:
        def note() -> None:
            self._report.differs(compared, difference)

        return Suspect(difference, reason, now_ms, now_ms, note)

    def _allowed(
        self, compared: PlayedRequest, difference: FieldDifference, arguments: Mapping[str, Any]
    ) -> str | None:
        allowed = find_allowed(difference, arguments, self._broker_count, self._release)
        if allowed is not None:
            return allowed.reason
        live = allowed_live(difference, arguments)
        return live or self.is_not_recorded(compared, difference)

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


def _may_be_unknown(found: list[FieldDifference]) -> bool:
    """Whether one of both does not know a topic or partition, and the other one does."""
    return any(
        difference.kind in {"missing", "extra"}
        or (
            difference.path.endswith("error_code")
            and not UNKNOWN_ERRORS.isdisjoint({difference.kafka, difference.ours})
        )
        for difference in found
    )


def _all_is_recorded(_exchange: PlayedRequest, _difference: FieldDifference) -> None:
    """Return no reason."""
