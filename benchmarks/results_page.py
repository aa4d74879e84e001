"""Keep the results of `scripts/bench --write`, and make tables and a chart of them.

`results.json` has the last result of each case, so a run of some measurements leaves the others.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.docs_page import CHARTS, markdown_table
from benchmarks.server_process import SERVER_NAMES, ServerName
from scenarios.picture import require_matplotlib, save

RESULTS_FILE = Path(__file__).with_name("results.json")
NAMES: Mapping[ServerName, str] = {
    "ours": "mock-kafka",
    "rdmock": "librdkafka's mock",
    "kfake": "kfake",
    "kafka": "Apache Kafka 4.1",
}
Results = dict[str, dict[str, Any]]
"""By measurement and case: `figures` by server, and `ratios` by rival; both by name."""


class Row(NamedTuple):
    """A figure of the table: `unit` follows the number, `decimals` are shown."""

    part: str
    label: str
    case: str
    figure: str = "server_us_per_request"
    unit: str = " µs"
    decimals: int = 1


class Operation(NamedTuple):
    """A row about mock-kafka alone; the text has `{figure of a case}` by the name of the case."""

    label: str
    text: str
    benchmark: str
    cases: Mapping[str, tuple[str, str]]
    """The case and the figure of each name in the text."""


_EACH = "server_us_each"
ALTERNATIVES, REQUESTS = "alternatives", "requests"
ROWS = (
    Row(ALTERNATIVES, "from exec to the first Metadata", "start 1 broker", "start_s", " s", 3),
    Row(ALTERNATIVES, "resident memory, idle", "idle 1 broker", "resident_mb", " MB", 0),
    Row(ALTERNATIVES, "Produce, 50 in flight on one connection", "produce 1x50"),
    Row(ALTERNATIVES, "the same, idempotent", "produce 1x50 idempotent"),
    Row(ALTERNATIVES, "Produce, 100 connections, one in flight each", "produce 100x1"),
    Row(ALTERNATIVES, "these, idempotent", "produce 100x1 idempotent"),
    Row(
        ALTERNATIVES,
        "Produce, one in flight: median until the response",
        "produce 1x1",
        "p50_us",
        decimals=0,
    ),
    Row(ALTERNATIVES, "the same, 99th percentile", "produce 1x1", "p99_us", decimals=0),
    Row(ALTERNATIVES, "Produce to 20 partitions", "produce 1x5 of 20 partitions"),
    Row(ALTERNATIVES, "this, idempotent", "produce 1x5 of 20 partitions idempotent"),
    Row(
        ALTERNATIVES,
        "one record a request by confluent-kafka, 5 in flight",
        "produce confluent-kafka, one record a request",
        "server_us_per_record",
    ),
    Row(
        ALTERNATIVES,
        "one of 1,000,000 records of 100 bytes, batched",
        "batched 1,000,000 x 100 bytes",
        "server_us_per_record",
        decimals=2,
    ),
    Row(
        ALTERNATIVES,
        "1,000 clients at once: producer id and first record of all",
        "storm 1000 connections at once",
        "seconds",
        " s",
        decimals=2,
    ),
    Row(REQUESTS, "Heartbeat", "requests heartbeat"),
    Row(REQUESTS, "ConsumerGroupHeartbeat without a change", "requests consumer-heartbeat"),
    Row(REQUESTS, "OffsetCommit of one partition", "requests offset-commit"),
    Row(REQUESTS, "Metadata of 10 topics by name", "requests metadata-10"),
    Row(REQUESTS, "Metadata of 1,000 topics by name", "requests metadata-1000", decimals=0),
    Row(REQUESTS, "Metadata of all 1,000 topics", "requests metadata-all-1000", decimals=0),
    Row(REQUESTS, "InitProducerId", "requests init-producer-id"),
    Row(
        REQUESTS,
        "transaction of one record: Produce v12, EndTxn v5",
        "requests transaction",
        "server_us_per_transaction",
    ),
    Row(
        REQUESTS,
        "a record to a consumer that keeps up: Produce and Fetch",
        "requests fetch of a consumer that keeps up",
        _EACH,
    ),
    Row(
        REQUESTS,
        "Fetch of a consumer that waits, 100 on one topic",
        "requests fetch of 100 consumers that wait",
        _EACH,
    ),
    Row(REQUESTS, "one of 1,000,000 records read back", "requests read back", _EACH, decimals=2),
    Row(
        REQUESTS,
        "Produce beside 1,000 idle connections, in times of that without",
        "requests 1000 idle connections beside a busy one",
        "beside_to_alone",
        "",
        decimals=2,
    ),
)

OPERATIONS_PART = "single operations"
_RESET = "reset 3 brokers, a topic, a fault, 3 connections"
_PER_ID = "resident_bytes_per_entry"
OPERATIONS = (
    Operation(
        "reset of a cluster",
        "{median:.1f} ms (p99 {p99:.1f} ms)",
        "reset",
        {"median": (_RESET, "reset_ms"), "p99": (_RESET, "reset_ms_p99")},
    ),
    Operation(
        "first fixture `mock_kafka` of a test session",
        "{first:.2f} s",
        "fixture",
        {"first": ("fixture 1 broker", "first_s")},
    ),
    Operation(
        "each further one",
        "{further:.1f} ms",
        "fixture",
        {"further": ("fixture 1 broker", "further_ms")},
    ),
    Operation(
        "memory of one producer id, KIP-758's rule",
        "{many:.0f} bytes, {few:.0f} if there are only 10,000",
        "producer-state",
        {
            "many": ("producer-state kip-758 1000000", _PER_ID),
            "few": ("producer-state kip-758 10000", _PER_ID),
        },
    ),
    Operation(
        "memory of one producer id, Kafka's five-batch rule",
        "{many:.0f} bytes",
        "producer-state",
        {"many": ("producer-state kafka 1000000", _PER_ID)},
    ),
)
ALONE_CASES = {case for row in OPERATIONS for case, _figure in row.cases.values()}
"""Cases of programs that measure mock-kafka alone."""


def read() -> Results:
    """Return the kept results."""
    results: Results = json.loads(RESULTS_FILE.read_text(encoding="utf-8"))
    return results


def keep(lines: Iterable[Mapping[str, Any]]) -> Results:
    """Add the JSON lines of measurements to the kept results, and return all."""
    results = read() if RESULTS_FILE.exists() else {}
    fresh: set[str] = set()
    for line in lines:
        key = f"{line['measurement']} {line['case']}"
        if key not in fresh:
            fresh.add(key)
            results[key] = {"rounds": line["rounds"], "figures": {}, "ratios": {}}
        results[key]["figures"][line["server"]] = line["figures"]
        results[key]["ratios"] = {
            rival: line[f"ratio_ours_to_{rival}"] for rival in SERVER_NAMES if rival != "ours"
        }
    RESULTS_FILE.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


def with_server(line: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the line of a program as one of a measurement of ours; None if no row shows it."""
    if f"{line.get('measurement')} {line.get('case')}" not in ALONE_CASES:
        return None
    found: Mapping[str, Any] = {**line, **line.get("figures", {})}
    figures = {
        name: dict.fromkeys(("median", "min", "max"), value)
        for name, value in found.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    no_ratios: dict[str, Any] = {f"ratio_ours_to_{rival}": {} for rival in SERVER_NAMES}
    return {**line, **no_ratios, "server": "ours", "rounds": 1, "figures": figures}


def median_of(results: Results, case: str, figure: str) -> float:
    """Return a figure of mock-kafka."""
    found: float = results[case]["figures"]["ours"][figure]["median"]
    return found


def operations_table(results: Results) -> str:
    """Return the Markdown table of the operations of mock-kafka alone."""
    rows = []
    for row in OPERATIONS:
        values = {name: median_of(results, *place) for name, place in row.cases.items()}
        rows.append((row.label, row.text.format_map(values), f"`{row.benchmark}`"))
    return markdown_table(("", "", "benchmark"), rows)


def parts(results: Results) -> dict[str, str]:
    """Return the parts of docs/benchmarks.md by name."""
    tables = {part: table(results, part) for part in dict.fromkeys(row.part for row in ROWS)}
    return {**tables, OPERATIONS_PART: operations_table(results)}


def table(results: Results, part: str) -> str:
    """Return the Markdown table of a part: a column for each server, then two ratios."""
    rows = [row for row in ROWS if row.part == part and row.case in results]
    header = ("", *NAMES.values(), "ratio to librdkafka's mock", "ratio to kfake")
    return markdown_table(header, [_cells(row, results[row.case]) for row in rows])


def _cells(row: Row, result: Mapping[str, Any]) -> Sequence[str]:
    figures = [result["figures"].get(server, {}).get(row.figure) for server in NAMES]
    ratios = [result["ratios"].get(rival, {}).get(row.figure) for rival in ("rdmock", "kfake")]
    return (
        row.label,
        *(
            "" if found is None else f"{found['median']:,.{row.decimals}f}{row.unit}"
            for found in figures
        ),
        *(
            "" if found is None else "{median:.2f} ({min:.2f} to {max:.2f})".format_map(found)
            for found in ratios
        ),
    )


def draw() -> None:
    """Draw the server time of small requests, a group of bars for each, on a logarithmic scale."""
    results = read()
    rows = [row for row in ROWS if row.unit == " µs" and row.case in results]
    figure = require_matplotlib()(figsize=(10, 1 + 0.55 * len(rows)), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / len(NAMES)
    for number, (server, name) in enumerate(NAMES.items()):
        found = [
            (place, results[row.case]["figures"][server][row.figure]["median"])
            for place, row in enumerate(rows)
            if server in results[row.case]["figures"]
        ]
        places = [place + (number - 1.5) * height for place, _ in found]
        axes.barh(places, [cost_us for _, cost_us in found], height, label=name)
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("server time per request in µs, logarithmic")
    figure.legend(loc="outside lower center", ncols=len(NAMES))
    save(figure, CHARTS, "benchmarks")
