"""What a comparison has found, API by API."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from broker.config.public_keys import may_show_config
from protocol import json_view
from proxy.diff.field_comparison import FieldDifference
from proxy.diff.played_request import PlayedRequest

if TYPE_CHECKING:
    from collections.abc import Callable

SAME = "answers your application as your cluster does: 100 %"
REQUEST_CHARACTERS_MAX = 2000
"""More of a request is not shown."""


@dataclass(slots=True)
class FoundDifference:
    """A difference, and the first request that shows it."""

    difference: FieldDifference
    request: dict[str, Any]
    count: int = 0


@dataclass(slots=True)
class ApiReport:
    """What was found in the responses of one API."""

    requests: int = 0
    same: int = 0
    """Responses that are equal in all fields but those that are allowed to differ."""
    different: int = 0
    fields: int = 0
    allowed: Counter[str] = field(default_factory=Counter)
    """How many fields differed as they may, by reason."""
    timing: Counter[str] = field(default_factory=Counter)
    """How many fields differed for a while only, by reason."""
    not_compared: Counter[str] = field(default_factory=Counter)
    """How many requests have no comparison, by reason."""
    differences: dict[str, FoundDifference] = field(default_factory=dict)
    """By signature."""


class Report:
    """The report of a comparison; `record_count` and `unsettled` are set at its end."""

    def __init__(self) -> None:
        self.apis: dict[str, ApiReport] = {}
        self.compared_records = 0
        self.records_left_out = 0
        self.unsettled: Counter[str] = Counter()
        """Differences of time about which nobody asked again, by signature."""
        self.missing: list[str] = []
        """What the recorded world lacks."""
        self.on_difference: Callable[[FieldDifference], None] = _ignore
        """Is called with the first difference of each kind."""

    def of(self, api: str) -> ApiReport:
        """Return the report of an API."""
        return self.apis.setdefault(api, ApiReport())

    def not_compared(self, api: str, reason: str) -> None:
        """Count a request without a comparison."""
        found = self.of(api)
        found.requests += 1
        found.not_compared[reason] += 1

    def compared(self, api: str, fields: int, *, is_same: bool) -> None:
        """Count a comparison."""
        found = self.of(api)
        found.requests += 1
        found.fields += fields
        found.same += is_same
        found.different += not is_same

    def differs(self, compared: PlayedRequest, difference: FieldDifference) -> None:
        """Note a difference in the response to a request."""
        known = self.of(difference.api).differences
        if difference.signature not in known:
            known[difference.signature] = FoundDifference(difference, _described(compared))
            self.on_difference(difference)
        known[difference.signature].count += 1

    @property
    def is_same(self) -> bool:
        """Whether something was compared, and nothing differed."""
        has_differences = any(found.differences for found in self.apis.values())
        return not has_differences and any(found.same for found in self.apis.values())

    @property
    def verdict(self) -> str:
        """One sentence about all."""
        compared = sum(found.same + found.different for found in self.apis.values())
        same = sum(found.same for found in self.apis.values())
        if not compared:
            return "nothing was compared: no request has come through the proxy"
        if self.is_same:
            return SAME
        share = min(100 * same / compared, 99.99)
        return f"answers {share:.2f} % of your application's requests as your cluster does"

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "verdict": self.verdict,
            "is_same": self.is_same,
            "compared_records": self.compared_records,
            "records_left_out": self.records_left_out,
            "missing": self.missing,
            "unsettled": dict(self.unsettled),
            "apis": {
                api: {
                    "requests": found.requests,
                    "same": found.same,
                    "different": found.different,
                    "fields": found.fields,
                    "allowed": dict(found.allowed),
                    "timing": dict(found.timing),
                    "not_compared": dict(found.not_compared),
                    "differences": [
                        {
                            "signature": signature,
                            "path": one.difference.path,
                            "place": one.difference.place,
                            "real": one.difference.text(one.difference.kafka),
                            "ours": one.difference.text(one.difference.ours),
                            "count": one.count,
                            "first_request": one.request,
                        }
                        for signature, one in found.differences.items()
                    ],
                }
                for api, found in sorted(self.apis.items())
            },
        }

    def lines(self) -> list[str]:
        """Return it for a terminal."""
        lines = [f"{'API':32} {'requests':>9} {'same':>9} {'different':>9} {'not compared':>13}"]
        for api, found in sorted(self.apis.items()):
            left_out = found.not_compared.total()
            counts = f"{found.requests:9} {found.same:9} {found.different:9} {left_out:13}"
            lines.append(f"{api:32} {counts}")
        for title, name in (
            ("allowed", "allowed"),
            ("only earlier or later", "timing"),
            ("not compared", "not_compared"),
        ):
            for api, found in sorted(self.apis.items()):
                counts_by_reason: Counter[str] = getattr(found, name)
                lines += [
                    f"{title}: {api}: {reason} ({count})"
                    for reason, count in counts_by_reason.most_common()
                ]
        lines += [f"seen once, may be time: {text} ({n})" for text, n in self.unsettled.items()]
        lines += [f"the recorded world lacks {text}" for text in self.missing]
        for _api, found in sorted(self.apis.items()):
            for one in found.differences.values():
                lines += [
                    f"DIFFERENT ({one.count}): {one.difference}",
                    f"  first request: {json.dumps(one.request, default=str)}",
                ]
        lines.append(
            f"{self.compared_records} records were compared by their offsets,"
            f" {self.records_left_out} could not be"
        )
        return [*lines, self.verdict]


def _ignore(_difference: FieldDifference) -> None:
    """Do nothing."""


def _described(compared: PlayedRequest) -> dict[str, Any]:
    """Return what identifies a request, for a reader, without secrets."""
    header = compared.header
    request = compared.request
    fields = {} if request is None else json_view.as_plain(request, may_show_config)
    text = json.dumps(fields, default=str)
    return {
        "api": compared.api,
        "version": header.api_version,
        "client_id": header.client_id,
        "correlation_id": header.correlation_id,
        "received_ms": compared.received_ms,
        "fields": text
        if len(text) <= REQUEST_CHARACTERS_MAX
        else f"{text[:REQUEST_CHARACTERS_MAX]}...",
    }
