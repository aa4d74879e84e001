"""The times of `mock-kafka groups --reset-offsets`: `--to-datetime` and `--by-duration`."""

import re
from datetime import UTC, datetime

from client.tools.session import ToolError

_DURATION = re.compile(
    r"(?P<sign>[+-]?)P(?:(?P<days>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{1,9})?)S)?)?",
    re.IGNORECASE,
)
_SECONDS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


def timestamp_ms(text: str) -> int:
    """Return a date and time in ms since the epoch; without an offset it is in UTC.

    Raises:
        ToolError: it is not like `2026-01-31T12:00:00.000`, perhaps with `Z` or `+02:00`.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ToolError(f"--to-datetime {text}: expected YYYY-MM-DDTHH:MM:SS.sss") from error
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return round(found.timestamp() * 1000)


def duration_ms(text: str) -> int:
    """Return an ISO 8601 duration in ms.

    Raises:
        ToolError: it is not like `P2DT3H4M5.6S`.
    """
    match = _DURATION.fullmatch(text)
    if match is None or not any(match[name] for name in _SECONDS):
        raise ToolError(f"--by-duration {text}: expected PnDTnHnMnS, such as P1DT12H")
    seconds = sum(float(match[name] or 0) * unit for name, unit in _SECONDS.items())
    return round(seconds * 1000) * (-1 if match["sign"] == "-" else 1)
