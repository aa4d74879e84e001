"""Times and durations in arguments."""

import pytest

from client.tools.offset_times import duration_ms, timestamp_ms
from client.tools.session import ToolError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:01.500", 1_500),
        ("1970-01-01T00:00:01Z", 1_000),
        ("1970-01-01T02:00:00.000+02:00", 0),
    ],
)
def test_a_time_is_in_utc_unless_it_has_an_offset(text: str, expected: int) -> None:
    assert timestamp_ms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PT1S", 1_000),
        ("pt0.25s", 250),
        ("P1DT2H3M4.5S", 93_784_500),
        ("P2D", 172_800_000),
        ("-PT1M", -60_000),
    ],
)
def test_a_duration_is_as_in_iso_8601(text: str, expected: int) -> None:
    assert duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "P", "PT", "1D", "P1H", "PT1D", "P1Y"])
def test_an_invalid_duration_is_an_error_with_the_format(text: str) -> None:
    with pytest.raises(ToolError, match="expected PnDTnHnMnS"):
        duration_ms(text)


def test_an_invalid_time_is_an_error_with_the_format() -> None:
    with pytest.raises(ToolError, match="expected YYYY-MM-DDTHH:MM:SS"):
        timestamp_ms("yesterday")
