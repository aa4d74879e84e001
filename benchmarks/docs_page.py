"""The parts of docs/benchmarks.md that benchmarks write: tables between comments, and charts."""

import re
from collections.abc import Sequence

from benchmarks.server_process import PROJECT

TARGET = PROJECT / "docs" / "benchmarks.md"
CHARTS = PROJECT / "docs" / "pictures"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column is text, and the others numbers."""
    lines = [f"| {' | '.join(header)} |", f"|---|{'---:|' * (len(header) - 1)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def with_part(text: str, name: str, part: str) -> str:
    """Return the document with a new part between `<!-- name -->` and the next `<!-- end -->`.

    Raises:
        LookupError: there is no such part.
    """
    written, count = re.subn(
        rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)",
        lambda found: f"{found[1]}\n{part}\n\n{found[2]}",
        text,
        count=1,
        flags=re.DOTALL,
    )
    if not count:
        raise LookupError(f"the document has no part {name}")
    return written


def write_part(name: str, part: str) -> None:
    """Write a part into the document."""
    text = with_part(TARGET.read_text(encoding="utf-8"), name, part)
    TARGET.write_text(text, encoding="utf-8")
