"""The wheel holds exactly our packages; `tests`, `scripts` and `docs` would be strangers in it."""

import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
SETUPTOOLS_MAJOR_MIN = 77  # as [build-system] in pyproject.toml says
PACKAGES = {
    "broker",
    "client",
    "loadgen",
    "mock_kafka",
    "producer_state",
    "protocol",
    "quotas",
    "scenarios",
}


@pytest.mark.slow
def test_the_wheel_has_our_packages_each_typed_and_nothing_else_at_its_top(tmp_path: Path) -> None:
    # Built from links, so that the tree is left as it was. With a new enough setuptools here no
    # network is needed; otherwise pip fetches one.
    is_offline = int(version("setuptools").partition(".")[0]) >= SETUPTOOLS_MAJOR_MIN
    source = tmp_path / "source"
    source.mkdir()
    for name in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        *PACKAGES,
        "tests",
        "scripts",
        "benchmarks",
    ):
        (source / name).symlink_to(REPOSITORY / name)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet"]
        + (["--no-build-isolation", "--no-index"] if is_offline else [])
        + ["--wheel-dir", str(tmp_path), str(source)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("mock_kafka-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    top_level = {name.partition("/")[0] for name in names}
    [dist_info] = [name for name in top_level if name.endswith(".dist-info")]
    assert top_level - {dist_info} == PACKAGES
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    assert "broker/http_admin/page.html" in names
    assert "scenarios/rolling_upgrade/Writer.java" in names
    assert "scenarios/delivery_timeout/TimedProducers.java" in names
    licence = zipfile.ZipFile(wheel).read(f"{dist_info}/licenses/LICENSE")
    assert licence == (REPOSITORY / "LICENSE").read_bytes()
    entry_points = zipfile.ZipFile(wheel).read(f"{dist_info}/entry_points.txt").decode()
    assert "mock-kafka = mock_kafka.cli:main" in entry_points
    in_tree = {
        str(path.relative_to(REPOSITORY))
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*.py")
    }
    assert in_tree == {name for name in names if name.endswith(".py")}
