"""What a run prints."""

from io import StringIO

from rich.console import Console

from loadgen.plan.plan import Plan, Tenant
from loadgen.progress import Progress
from loadgen.terminal import print_summary, progress_bar
from tests.loadgen.summaries import summary_of


def test_the_summary_lists_verdicts_totals_and_reasons_as_plain_text() -> None:
    out = StringIO()
    summary = summary_of(is_complete=False, abort_reasons=["the [bold] target died"])
    print_summary(summary, "out/report.html", Console(file=out, width=140))
    text = out.getvalue()
    assert "user <i>" in text
    assert (
        "10 requests, 1,234 responses/s, 4,321 records/s, 1.75 MB/s, 1 errors, 2 throttled, 0 lost"
        in text
    )
    heads = next(line for line in text.splitlines() if "p50 ms" in line)
    for head in (
        "tenant",
        "p50 ms",
        "p90 ms",
        "p99 ms",
        "p99.9 ms",
        "p99.99 ms",
        "max ms",
        "records/s",
        "MB/s",
    ):
        assert f" {head} " in heads
    figures, end_to_end = text[text.index("│ writer") :].splitlines()[:2]
    assert heads.split() == [
        "┃",
        "tenant",
        "┃",
        "events",
        "┃",
        "p50",
        "ms",
        "┃",
        "p90",
        "ms",
        "┃",
        "p99",
        "ms",
        "┃",
        "p99.9",
        "ms",
        "┃",
        "p99.99",
        "ms",
        "┃",
        "max",
        "ms",
        "┃",
        "records/s",
        "┃",
        "MB/s",
        "┃",
    ]
    assert figures.replace("│", "").split() == [
        "writer",
        "10",
        "1.00",
        "2.00",
        "3.00",
        "4.00",
        "5.00",
        "5.00",
        "4,321",
        "1.75",
    ]
    assert end_to_end.replace("│", "").split() == [
        *("end", "to", "end,", "group", "readers", "9"),
        *("1.00", "2.00", "3.00", "4.00", "5.00", "5.00"),
    ]
    assert "incomplete: the [bold] target died" in text
    assert "report: out/report.html" in text


def test_without_a_terminal_a_run_prints_a_line_every_ten_seconds() -> None:
    plan = Plan(name="p", duration_s=25, tenants=(Tenant("a", "steady", rate=4.0),))
    out = StringIO()
    with progress_bar(plan, Console(file=out, width=140)) as show:
        for t_s in range(1, 26):
            show(Progress({0: {"t_s": t_s, "done": 4 * t_s, "requests": 4 * t_s}}))
        lines = out.getvalue().splitlines()
    assert lines == [
        "load: 10 s, 15 s left  40 done  4 requests/s  errors 0  throttled 0",
        "load: 20 s, 5 s left  80 done  4 requests/s  errors 0  throttled 0",
    ]
