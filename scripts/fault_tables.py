"""Write the tables of docs/faults.md: `python -m scripts.fault_tables`.

They come from the declarations in `broker.faults.match`, `broker.faults.actions` and
`broker.faults.error_arrays`.
"""

import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from broker.faults.actions import ACTION_TYPES
from broker.faults.error_arrays import TOP, ErrorArray, has_level, part_arrays
from broker.faults.fields import kind_of
from broker.faults.match import Match, Trigger
from broker.routes import ROUTES
from protocol.api_keys import ApiKey
from protocol.messages import API_NAMES
from scripts import coverage_table

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


def error_levels() -> Iterator[str]:
    """Yield a table of the APIs whose requests have parts."""
    yield "| API | at the top | in the parts |"
    yield "|-----|-----|-----|"
    for api_key, route in sorted(ROUTES.items()):
        versions = range(route.version_min, route.version_max + 1)
        parts: dict[str, list[int]] = {}
        for version in versions:
            arrays = [
                array
                for is_of_partitions in (False, True)
                for array in part_arrays(
                    ApiKey(api_key), version, is_of_partitions=is_of_partitions
                )
            ]
            for place in sorted({*map(_place, arrays)}):
                parts.setdefault(f"`{place}`", []).append(version)
        if parts:
            at_top = [one for one in versions if has_level(ApiKey(api_key), one, TOP)]
            places = ", ".join(
                place + _span(found, versions) for place, found in sorted(parts.items())
            )
            top = "yes" + _span(at_top, versions) if at_top else "no"
            yield f"| {API_NAMES[ApiKey(api_key)]} | {top} | {places} |"


def _place(array: ErrorArray) -> str:
    inner = array.inner
    is_deepest = inner is None or not (inner.carries_error or not array.target)
    names = [f"{array.target}[]"] if array.target else []
    return ".".join(names if is_deepest or inner is None else [*names, _place(inner)])


def _span(found: list[int], versions: range) -> str:
    return "" if found == list(versions) else f" (v{coverage_table.span(found[0], found[-1])})"


def render(text: str) -> str:
    """Return the document with new tables."""
    tables = {f"{name} fields": table(*columns) for name, columns in TABLES.items()}
    for name, lines in {**tables, "error levels": error_levels()}.items():
        rows = "\n".join(lines)
        text = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda found, rows=rows: f"{found[1]}\n{rows}\n\n{found[2]}",  # type: ignore[misc]
            text,
            flags=re.DOTALL,
        )
    return text


if __name__ == "__main__":
    TARGET.write_text(render(TARGET.read_text(encoding="utf-8")), encoding="utf-8")
