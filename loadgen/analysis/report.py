"""A run as one page that needs nothing else: verdicts, charts, tables, the plan, the versions."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from loadgen.analysis.checks import SHADOW_UNITS

_VERDICT_FIELDS = ("promise", "about", "found")
_UNKNOWN = "-"
_TITLES = {
    "rates": "Requests per second",
    "latencies": "Latency of each tenant over time",
    "heat-map": "Latency, event by event",
    "ids": "Producer ids",
    "users": "Tokens and throttles of each user",
}
_NOTES = {
    "latencies": "Percentiles of each second, from the intended time to the response that settled it;"
    " what was never settled counts to the end of the run.",
    "heat-map": "The darker, the more events of that moment took so long.",
    "ids": "First success of each id, against what the quota promises at most.",
    "users": "Tokens as the promises have them: a full bucket at the beginning, and what comes back"
    " per second. Throttles as the responses asked for them.",
}


def render(summary: Mapping[str, Any], charts: Mapping[str, bytes], plan_text: str) -> str:
    """The page."""
    template = Template((files(__package__) / "report.html").read_text(encoding="utf-8"))
    totals = summary["totals"]
    return template.substitute(
        title=escape(summary["plan"]),
        subtitle=escape(
            f"run {summary['run_id']} · {summary['began']} · {summary['duration_s']:g} s"
            f" · seed {summary['seed']} · {summary['workers_count']} workers on"
            f" {summary['master']} · target {summary['target']}"
        ),
        ended=_ended(summary),
        tiles="".join(
            _tile(value, label)
            for value, label in (
                (f"{summary['requests_per_s']:,.0f}", "answers per second"),
                (f"{totals['requests']:,}", "requests"),
                (f"{totals['errors']:,}", "errors"),
                (f"{totals['throttled']:,}", "throttled"),
                (f"{totals['no_response'] + totals['not_sent']:,}", "unanswered or never sent"),
                (_share(summary["machine"]["generator_percent"]), "of the machine: generator"),
                (_share(summary["machine"]["broker_percent"]), "of the machine: broker"),
                (_number(summary["fairness"], 3), "fairness (1 is equal shares)"),
            )
        ),
        verdicts=_table(
            ("", *_VERDICT_FIELDS),
            (
                (_word(each["verdict"]), *(escape(each[key]) for key in _VERDICT_FIELDS))
                for each in summary["verdicts"]
            ),
        ),
        charts="".join(_figure(name, charts[name]) for name in _TITLES if name in charts),
        tenants=_table(
            ("tenant", "events", "settled", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms"),
            (
                (
                    escape(each["tenant"]),
                    f"{each['events']:,}",
                    f"{each['settled']:,}",
                    *(_number(value / 1000, 2) for value in each["response_us"]),
                    _number(each["response_max_us"] / 1000, 2),
                )
                for each in summary["tenants"]
            ),
        ),
        throttles=_throttles(summary["throttles"]),
        shadow_quotas=_shadow_quotas(summary["shadow_quotas"]),
        requests=_table(
            (
                "tenant",
                "API",
                "ended",
                "kind",
                "error",
                "requests",
                "p50 ms",
                "p99 ms",
                "longest throttle ms",
            ),
            (_request(each) for each in summary["requests"]),
        ),
        versions=_table(
            ("", ""),
            ((escape(key), escape(str(value))) for key, value in summary["machine"].items()),
        ),
        plan=escape(plan_text),
    )


def _throttles(rows: Sequence[Mapping[str, Any]]) -> str:
    """Asked and obeyed; nothing when nobody was asked."""
    if not rows:
        return ""
    table = _table(
        (
            "tenant",
            "throttled answers",
            "asked ms in all",
            "longest ms",
            "requests sent too early",
            "by at most ms",
            "answered too early",
        ),
        (
            (
                escape(each["tenant"]),
                *(f"{each[key]:,}" for key in ("throttled", "asked_ms", "longest_ms", "early")),
                _number(each["earliest_us"] / 1000, 0),
                f"{each['responded_early']:,}",
            )
            for each in rows
        ),
    )
    return (
        '<section class="numbers"><h2>Throttles asked and obeyed</h2><p>Too early: before the'
        f" throttle that was asked for last was over.</p>{table}</section>"
    )


def _shadow_quotas(rows: Sequence[Mapping[str, Any]]) -> str:
    """Who would have been throttled; nothing where no quota in shadow mode was exceeded."""
    if not rows:
        return ""
    table = _table(
        (
            "quota",
            "user",
            "client id",
            "broker",
            "would be throttled",
            "held",
            "over the quota",
            "longest ms",
            "ms in all",
            "first",
            "last",
        ),
        (
            (
                *(escape(str(each[key] or "")) for key in ("quota", "user", "client_id", "broker")),
                *(f"{each[key]:,}" for key in ("throttled", "held")),
                f"{each['over_quota']:,} {SHADOW_UNITS.get(each['quota'], '')}",
                *(f"{each[f'throttle_time_{key}_ms']:,}" for key in ("max", "total")),
                *(_time_of_day(each[key]) for key in ("first_ms", "last_ms")),
            )
            for each in rows
        ),
    )
    return (
        '<section class="numbers"><h2>Shadow quotas</h2><p>What quotas that are evaluated and not'
        " enforced would have done. Held: sent while the connection would have been mute. Times are"
        f" of the broker's clock, in UTC.</p>{table}</section>"
    )


def _time_of_day(time_ms: int) -> str:
    seconds, ms = divmod(time_ms, 1000)
    return f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"


def _request(row: Mapping[str, Any]) -> Sequence[str]:
    service = row["service_us"] or (None, None)
    words = (row["tenant"], row["api"] or "", row["status"], row["kind"], row["error"])
    return (
        *(escape(word.replace("_", " ") if word == row["status"] else word) for word in words),
        f"{row['requests']:,}",
        *(_number(None if value is None else value / 1000, 2) for value in service),
        f"{row['throttle_max_ms'] or 0:,}",
    )


def _ended(summary: Mapping[str, Any]) -> str:
    if summary["is_complete"]:
        return ""
    not_due = f"{summary['totals']['not_due']:,} events were still ahead"
    reasons = "".join(f"<li>{escape(each)}</li>" for each in (*summary["ended"], not_due))
    return (
        '<div class="ended"><strong>This run is not complete.</strong> What was done until then is'
        f" below; it is no evidence for the rest.<ul>{reasons}</ul></div>"
    )


def _word(verdict: str) -> str:
    return f'<span class="word {verdict.replace(" ", "-")}">{escape(verdict)}</span>'


def _tile(value: str, label: str) -> str:
    return f'<div class="tile"><b>{escape(value)}</b><span>{escape(label)}</span></div>'


def _figure(name: str, png: bytes) -> str:
    note = f"<p>{escape(_NOTES[name])}</p>" if name in _NOTES else ""
    data = b64encode(png).decode()
    title = escape(_TITLES[name])
    return (
        f'<section><h2>{title}</h2>{note}<img alt="{title}" src="data:image/png;base64,{data}">'
        "</section>"
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    head = f"<thead><tr>{top}</tr></thead>" if any(heads) else ""
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _number(value: float | None, digits: int) -> str:
    return _UNKNOWN if value is None else f"{value:,.{digits}f}"


def _share(percent: float | None) -> str:
    return _UNKNOWN if percent is None else f"{percent:.0f} %"
