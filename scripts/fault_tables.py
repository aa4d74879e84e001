"""Write the tables of docs/faults.md: `python -m scripts.fault_tables`.

They come from the declarations in `broker.faults.match` and `broker.faults.actions`.
"""

import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from broker.faults.actions import ACTION_TYPES
from broker.faults.fields import kind_of
from broker.faults.match import Match, Trigger

TARGET = Path(__file__).parent.parent / "docs" / "faults.md"


def declared_by(*parts: type) -> list[Field[Any]]:
    found: dict[str, Field[Any]] = {}
    for part in parts:
        found |= {declared.name: declared for declared in fields(part)}
    return list(found.values())


def table(title: str, declared: list[Field[Any]]) -> Iterator[str]:
    yield f"| field | values | {title} |"
    yield "|-------|--------|--------|"
    for entry in declared:
        description = entry.metadata["description"]
        if entry.default not in {None, MISSING}:
            description += f". Default: `{str(entry.default).lower()}`"
        yield f"| `{entry.name}` | {kind_of(entry).values} | {description} |"


TABLES = {
    "match": ("matches", declared_by(Match)),
    "trigger": ("fires", declared_by(Trigger)),
    "action": ("effect", declared_by(*ACTION_TYPES)),
}


def render(text: str) -> str:
    """Return the document with new tables."""
    for name, (title, declared) in TABLES.items():
        rows = "\n".join(table(title, declared))
        text = re.sub(
            rf"(<!-- {name} fields -->\n).*?(<!-- end -->)",
            lambda found, rows=rows: f"{found[1]}\n{rows}\n\n{found[2]}",  # type: ignore[misc]
            text,
            flags=re.DOTALL,
        )
    return text


if __name__ == "__main__":
    TARGET.write_text(render(TARGET.read_text(encoding="utf-8")), encoding="utf-8")
