"""What a run shows on the terminal: a progress bar and a table of verdicts."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich import progress as rich_progress
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from loadgen.analysis.measures import RESPONSE, measure_label
from loadgen.plan.plan import Plan
from loadgen.plan.schedule import event_counts
from loadgen.progress import Progress, RateMeter

_LINE_EVERY_S = 10
_COLOURS = {"passed": "green", "failed": "bold red", "not checked": "dim"}


@contextmanager
def progress_bar(plan: Plan, console: Console) -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar, or a line every ten seconds where the console is no terminal.

    Yield the function that updates it.
    """
    total = sum(event_counts(plan))
    is_open = all(tenant.arrival != "closed" for tenant in plan.tenants)
    with rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TaskProgressColumn(),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TextColumn("left:"),
        rich_progress.TimeRemainingColumn(),
        rich_progress.TextColumn("{task.fields[counts]}"),
        console=console,
        transient=False,
    ) as bar:
        task = bar.add_task("load", total=total if is_open else plan.duration_s, counts="")
        rate_meter = RateMeter()
        next_line_s = _LINE_EVERY_S - plan.warm_up_s

        def update(progress: Progress) -> None:
            nonlocal next_line_s
            done, t_s = progress.total("done"), progress.t_s
            rate = rate_meter.update(t_s, progress.total("requests"))
            counts = (
                f"{done:,} done  {rate:,.0f} requests/s  errors {progress.total('errors'):,}"
                f"  throttled {progress.total('throttled'):,}"
            )
            bar.update(
                task,
                completed=min(total, done) if is_open else max(0.0, min(t_s, plan.duration_s)),
                counts=counts,
            )
            if not console.is_terminal and t_s >= next_line_s:
                next_line_s = t_s + _LINE_EVERY_S
                left_s = max(0.0, plan.duration_s - t_s)
                console.print(f"load: {t_s:.0f} s, {left_s:.0f} s left  {counts}", soft_wrap=True)

        yield update


_PERCENTILES = ("p50", "p90", "p99", "p99.9", "p99.99")


def _latencies(summary: Mapping[str, Any]) -> Table:
    """Return what each tenant waited for; below it the other measures of its batches."""
    names = (*_PERCENTILES, "max")
    table = Table("tenant", "events", *(f"{name} ms" for name in names), "records/s", "MB/s")
    for tenant in summary["tenants"]:
        times_us = [
            *(tenant["response_us"] or [None] * len(_PERCENTILES)),
            tenant["response_max_us"],
        ]
        table.add_row(
            escape(tenant["tenant"]),
            f"{tenant['events']:,}",
            *map(_ms, times_us),
            f"{tenant['records_per_s']:,.0f}",
            f"{tenant['mb_per_s']:,.2f}",
        )
        for row in summary["latencies"]:
            if row["tenant"] == tenant["tenant"] and row["measure"] != RESPONSE:
                table.add_row(
                    f"  {escape(measure_label(row))}",
                    f"{row['count']:,}",
                    *(_ms(row[f"{name.replace('.', '')}_us"]) for name in names),
                )
    return table


def _ms(time_us: float | None) -> str:
    return "-" if time_us is None else f"{time_us / 1000:,.2f}"


def print_summary(summary: Mapping[str, Any], report: str, console: Console) -> None:
    """Print the verdicts, the totals and the path of the report."""
    table = Table("verdict", "check", "scope", "details", title=summary["run_id"])
    for verdict in summary["verdicts"]:
        word = verdict["verdict"]
        colour = _COLOURS[word]
        cells = (escape(verdict[key]) for key in ("check", "scope", "details"))
        table.add_row(f"[{colour}]{word}[/{colour}]", *cells)
    console.print(table)
    console.print(_latencies(summary))
    totals = summary["totals"]
    console.print(
        f"{totals['requests']:,} requests, {summary['responses_per_s']:,.0f} responses/s,"
        f" {summary['records_per_s']:,.0f} records/s, {summary['mb_per_s']:,.2f} MB/s,"
        f" {totals['errors']:,} errors, {totals['throttled']:,} throttled, {totals['lost']:,} lost,"
        f" {totals['no_response']:,} without a response, {totals['not_sent']:,} not sent,"
        f" {totals['not_due']:,} not due before the end"
    )
    for reason in summary["abort_reasons"]:
        console.print(f"[bold red]incomplete:[/bold red] {escape(reason)}")
    console.print(f"report: {escape(report)}", soft_wrap=True)
