"""The report is one HTML page without external files; all text is escaped."""

import re
from html.parser import HTMLParser

from loadgen.analysis.report import render
from tests.loadgen.summaries import PLAN, summary_of

CHARTS = {"rates": "<svg>rates</svg>", "users": "<svg>users</svg>"}


class Balance(HTMLParser):
    """Every tag that is opened is closed."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page() -> str:
    return render(summary_of(), CHARTS, PLAN.text)


def test_the_report_is_well_formed_and_loads_nothing() -> None:
    balance = Balance()
    balance.feed(page())
    assert balance.open == []
    assert re.findall(r'(?:src|href)="(?!data:)', page()) == []
    assert page().count("<svg>") == 2


def test_names_and_plan_are_escaped() -> None:
    assert "<i>" not in page()
    assert "user &lt;i&gt;" in page()
    assert "name: small # &lt;b&gt;" in page()


def test_verdicts_and_figures_are_shown() -> None:
    assert '<span class="word failed">failed</span>' in page()
    assert '<span class="word not-checked">not checked</span>' in page()
    assert "1,234" in page()
    assert "<td>not sent</td>" in page()
    assert "<td>2.00</td>" in page()


def test_throttles_are_shown_if_there_were_any() -> None:
    row = "<td>writer</td><td>2</td><td>12,345</td><td>400</td><td>6</td><td>7</td><td>8</td>"
    assert row in page()
    assert "Throttles of each tenant" not in render(summary_of(throttles=[]), CHARTS, PLAN.text)


def test_shadow_quotas_are_shown_if_one_was_exceeded() -> None:
    row: dict[str, object] = {
        "quota": "producer_byte_rate",
        "user": "<i>",
        "client_id": None,
        "broker": 1,
        "throttled": 1234,
        "held": 17,
        "over_quota": 5_000_000,
        "throttle_time_max_ms": 2500,
        "throttle_time_total_ms": 30_000,
        "first_ms": 1_000,
        "last_ms": 3_661_002,
        "events": [],
    }
    page = render(summary_of(shadow_quotas=[row]), {}, PLAN.text)

    for words in ("&lt;i&gt;", "1,234", "17", "5,000,000 bytes", "2,500", "30,000"):
        assert f"<td>{words}</td>" in page
    assert "<td>00:00:01.000</td>" in page
    assert "<td>01:01:01.002</td>" in page
    assert "Shadow quotas" not in render(summary_of(), {}, PLAN.text)


def test_an_incomplete_run_shows_its_reasons() -> None:
    assert "This run is incomplete." not in page()
    ended = summary_of(is_complete=False, abort_reasons=["the <target> died"])
    text = render(ended, {}, "")
    assert "This run is incomplete." in text
    assert "<li>the &lt;target&gt; died</li>" in text


def test_latencies_end_to_end_groups_and_backlogs_are_shown_if_there_are_any() -> None:
    assert "<td>writer</td><td>end to end, group readers</td><td>9</td><td>8</td>" in page()
    assert "<td>readers</td><td>8</td><td>4</td><td>9</td><td>1</td>" in page()
    row = "<td>reader</td><td>0.5</td><td>1.0</td><td>6,543</td><td>2</td><td>-</td><td>7</td>"
    assert row in page()
    without = render(summary_of(latencies=[], groups=[], backlogs=[]), CHARTS, PLAN.text)
    assert not re.findall("End to end|Groups|Backlogs", without)
