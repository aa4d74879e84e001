"""The documented durations: every case, and none much longer than with Apache Kafka."""

from benchmarks.docs_page import TARGET
from benchmarks.durations import CASES, RATIO_MAX


def rows(text: str) -> list[list[str]]:
    table = text.partition("<!-- durations -->")[2].partition("<!-- end -->")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines[1:]]


def test_the_document_has_every_case_within_its_limit() -> None:
    documented = rows(TARGET.read_text(encoding="utf-8"))
    assert [row[0] for row in documented] == [title for title, _ in CASES.values()]
    assert all(float(row[-1]) <= RATIO_MAX for row in documented)
