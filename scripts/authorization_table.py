"""Write the table of checks in docs/security.md: `python -m scripts.authorization_table`.

It comes from the checks that the handlers declare.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import broker.handlers  # noqa: F401 - registers every API
from broker.authorization.checks import Check
from broker.routes import ROUTES
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages import API_NAMES

TARGET = Path(__file__).parent.parent / "docs" / "security.md"
_SECTION = re.compile(r"(<!-- authorized requests -->\n).*?(<!-- end -->)", re.DOTALL)


def rows() -> Iterator[str]:
    """Return a row for each check, and a line with the APIs that check nothing."""
    checks = {API_NAMES[api_key]: ROUTES[api_key].checks for api_key in map(ApiKey, sorted(ROUTES))}
    yield "| API | operation | resource | error |"
    yield "|-----|-----------|----------|-------|"
    for name, own in checks.items():
        for check in own:
            yield f"| {name} | {_cells(check)} |"
    free = [name for name, own in checks.items() if not own]
    yield ""
    yield f"Without a check: {', '.join(free)}."


def _cells(check: Check) -> str:
    is_silent = check.error_code == ErrorCode.NONE
    error = "none: the response has less" if is_silent else ErrorCode(check.error_code).name
    return f"{check.operation.name} | {check.resource_type.name} | {error}"


def render(text: str) -> str:
    """Return the document with a new table."""
    table = "\n".join(rows())
    return _SECTION.sub(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", text)


if __name__ == "__main__":
    TARGET.write_text(render(TARGET.read_text(encoding="utf-8")), encoding="utf-8")
