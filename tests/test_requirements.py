"""The versions in requirements/ have hashes, agree with each other, and cover pyproject.toml."""

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "requirements").glob("*.txt"))
PIN = re.compile(
    r"^([a-z0-9-]+)(?:\[[a-z0-9, -]+\])?"
    r"==([\w.]+)(?: ; [^\\]*)? \\$((?:\n +--hash=sha256:[0-9a-f]{64}.*)*)",
    re.MULTILINE,
)
NAME = re.compile(r"[\w.-]+")


def pins(path: Path) -> dict[str, str]:
    """Return versions by the name of the package."""
    return {name: version for name, version, _ in PIN.findall(path.read_text())}


def names(requirements: list[str]) -> set[str]:
    found = (NAME.match(requirement) for requirement in requirements)
    return {re.sub(r"[-_.]+", "-", match[0]).lower() for match in found if match}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_package_has_one_version_and_hashes(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not line.startswith((" ", "#"))]
    found = PIN.findall(path.read_text())
    assert len(found) == len(lines) > 0
    assert all(hashes for *_, hashes in found)


def test_all_files_have_the_same_versions() -> None:
    everything = pins(ROOT / "requirements" / "dev.txt")
    for path in FILES:
        assert pins(path).items() <= everything.items(), path


def test_an_extra_that_another_package_asks_for_is_in_the_lock_file() -> None:
    # Without it pip 23 takes a newer version as soon as there is one, and has no hash for it.
    lock = (ROOT / "requirements" / "dev.txt").read_text()
    assert "coverage[toml]>=" in " ".join(requires("pytest-cov") or [])
    assert re.search(r"^coverage\[toml\]==", lock, re.MULTILINE)


def test_every_dependency_of_the_project_has_a_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    runtime = names(project["dependencies"])
    optional = [name for extra in project["optional-dependencies"].values() for name in extra]
    assert runtime <= pins(ROOT / "requirements" / "runtime.txt").keys()
    assert (names(optional) | runtime) - {"mock-kafka"} <= pins(
        ROOT / "requirements" / "dev.txt"
    ).keys()
