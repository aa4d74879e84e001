"""The report of a comparison as one HTML page without scripts."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
th, td { border-bottom: 1px solid #8885; padding: .3rem .6rem; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.same { color: #1a7f37; } .different { color: #cf222e; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font-size: 12px; }
@media (prefers-color-scheme: dark) { .same { color: #3fb950; } .different { color: #f85149; } }
"""


def page_of(document: Mapping[str, Any]) -> str:
    """Return the page of a report's document."""
    verdict_class = "same" if document["is_same"] else "different"
    apis: Mapping[str, Any] = document["apis"]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>mock-kafka diff</title>",
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>",
        "<h1>Your cluster and mock-kafka</h1>",
        f"<p class={verdict_class}><strong>mock-kafka {escape(document['verdict'])}</strong></p>",
        _record_counts(document),
        _table(
            ("API", "requests", "same", "different", "fields", "not compared"),
            (
                (
                    api,
                    found["requests"],
                    found["same"],
                    found["different"],
                    found["fields"],
                    sum(found["not_compared"].values()),
                )
                for api, found in apis.items()
            ),
        ),
        _differences(apis),
        _reasons("May differ", "allowed", apis),
        _reasons("Only earlier or later", "timing", apis),
        _reasons("Not compared", "not_compared", apis),
        _list("Seen once, may be time", (f"{k} ({n})" for k, n in document["unsettled"].items())),
        _list("The recorded world lacks", document["missing"]),
        "</html>",
    ]
    return "\n".join(part for part in parts if part)


def _record_counts(document: Mapping[str, Any]) -> str:
    compared, left_out = document["compared_records"], document["records_left_out"]
    return f"<p>{compared} records were compared by their offsets, {left_out} could not be.</p>"


def _differences(apis: Mapping[str, Any]) -> str:
    rows = [
        (
            api,
            one["place"],
            one["real"],
            one["ours"],
            one["count"],
            _Raw(f"<pre>{escape(_request(one['first_request']))}</pre>"),
        )
        for api, found in apis.items()
        for one in found["differences"]
    ]
    if not rows:
        return ""
    heads = ("API", "field", "your cluster", "mock-kafka", "times", "first request")
    return f"<h2 class=different>Differences</h2>{_table(heads, rows)}"


def _request(request: Mapping[str, Any]) -> str:
    head = f"{request['api']} v{request['version']}, client id {request['client_id']}"
    return f"{head}, correlation id {request['correlation_id']}\n{request['fields']}"


def _reasons(title: str, name: str, apis: Mapping[str, Any]) -> str:
    rows = [
        (api, reason, count) for api, found in apis.items() for reason, count in found[name].items()
    ]
    if not rows:
        return ""
    return f"<h2>{title}</h2>{_table(('API', 'reason', 'times'), rows)}"


def _list(title: str, texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(text)}" for text in texts)
    return f"<h2>{title}</h2><ul>{items}</ul>" if items else ""


class _Raw(str):
    """HTML that is not escaped again."""

    __slots__ = ()


def _table(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    head = "".join(f"<th>{escape(text)}" for text in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}" for row in rows)
    return f"<table><thead><tr>{head}<tbody>{body}</table>"


def _cell(value: Any) -> str:
    if isinstance(value, _Raw):
        return f"<td>{value}"
    if isinstance(value, int):
        return f"<td class=n>{value:,}"
    return f"<td>{escape(str(value))}"
