"""The installation of packages shows that it lives, and how much is left."""

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).parent.parent / "scripts" / "pip-progress"


def shown(output: str, lines: int) -> list[str]:
    """Return the first lines that are shown while pip has printed this and nothing more."""
    with subprocess.Popen(
        [str(SCRIPT), "4", "1"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(output)
        process.stdin.flush()
        found = [process.stderr.readline().strip() for _ in range(lines)]
        process.stdin.close()
        process.stderr.read()
    assert process.returncode == 0
    return [re.sub(r"\d+ s", "N s", line) for line in found]


def test_the_packages_so_far_are_shown_with_an_estimate() -> None:
    output = "Collecting a==1\n  Downloading a.whl\nIgnoring b: markers 'x' don't match\n"
    first, second = shown(output, 2)
    assert first == "1 of 4 packages found, N s, about N s left"
    assert second == "2 of 4 packages found, N s, about N s left"


def test_what_takes_long_without_output_is_shown_again_and_again() -> None:
    building = "  Building wheel for b (pyproject.toml): started\n"
    expected = ["Building wheel for b (pyproject.toml): started, N s"] * 2
    assert shown(building, 2) == expected
    assert shown("Installing collected packages: a, b\n", 2) == ["installing 4 packages, N s"] * 2
