"""What a run prints."""

from io import StringIO

from rich.console import Console

from loadgen.terminal import print_summary
from tests.loadgen.summaries import summary_of


def test_the_summary_lists_verdicts_totals_and_reasons_as_plain_text() -> None:
    out = StringIO()
    summary = summary_of(is_complete=False, abort_reasons=["the [bold] target died"])
    print_summary(summary, "out/report.html", Console(file=out, width=140))
    text = out.getvalue()
    assert "user <i>" in text
    assert "10 requests, 1,234 responses/s, 1 errors, 2 throttled" in text
    assert "incomplete: the [bold] target died" in text
    assert "report: out/report.html" in text
