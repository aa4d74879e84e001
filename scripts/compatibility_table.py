"""Write the list of allowed differences into docs/compatibility.md.

python -m scripts.compatibility_table           write it
python -m scripts.compatibility_table --check   exit 1 when it is stale
"""

import re
import sys
from pathlib import Path

from proxy.diff.allowed_differences import ALLOWED_DIFFERENCES
from proxy.diff.mapped_fields import MAPPED_FIELDS
from scripts.generated_page import write_or_check
from tests.differential.tools import sessions

TARGET = Path(__file__).parent.parent / "docs" / "compatibility.md"
_PLACE = re.compile(r"(<!-- allowed differences -->\n).*?(<!-- end -->)", re.DOTALL)


def table() -> str:
    """Return the lists as Markdown tables."""
    lines = ["| API | field | reason |", "|-----|-------|--------|"]
    for allowed in ALLOWED_DIFFERENCES:
        api = "all" if allowed.api == "*" else allowed.api.replace("*", "\\*")
        field = "the whole response" if allowed.path == "response" else f"`{allowed.path}`"
        field += {"order": ", its order"}.get(allowed.kind, "")
        if allowed.place != "*":
            field += f" of `{allowed.place.rstrip('*')}`"
        if allowed.brokers_min > 1:
            field += ", with several brokers"
        if allowed.releases:
            field += f", in Kafka {', '.join(allowed.releases)}"
        lines.append(f"| {api} | {field} | {allowed.reason} |")
    lines += ["", "| field in any API | why its values have other names |", "|----|----|"]
    lines += [f"| `{name}` | {reason} |" for name, reason in MAPPED_FIELDS.items()]
    lines.append("| times | each broker has its own clock |")
    lines += ["", "| session of Kafka's tools | Kafka | what differs, or why |", "|----|----|----|"]
    for session in sessions():
        releases = ", ".join(session.releases)
        for reason in filter(None, [*session.allowed.values(), session.differs_because]):
            lines.append(f"| {session.about} | {releases} | {reason} |")
    return "\n".join(lines)


def render(text: str) -> str:
    """Return the document with its tables made again."""
    return _PLACE.sub(lambda found: f"{found[1]}\n{table()}\n\n{found[2]}", text)


def main() -> int:
    """Write the document, or with --check compare it."""
    text = TARGET.read_text(encoding="utf-8")
    return write_or_check(TARGET, render(text), "scripts.compatibility_table")


if __name__ == "__main__":
    sys.exit(main())
