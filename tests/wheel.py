"""The wheel and the source archive, built once, and programs that use them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from scripts.build_backend import CLIENT, pinned_client

REPOSITORY = Path(__file__).resolve().parent.parent
SETUPTOOLS_MAJOR_MIN = 77  # as [build-system] in pyproject.toml says


def run(
    *words: object, folder: Path, environment: Mapping[str, str] | None = None, timeout_s: int = 120
) -> str:
    """Return what a program prints.

    It inherits neither PYTHONPATH nor PYSPARK_PYTHON, which the Spark session of this process sets:
    Spark would start its workers with the interpreter of the checkout.
    """
    foreign = {"PYTHONPATH", "PYSPARK_PYTHON"}
    inherited = {key: value for key, value in os.environ.items() if key not in foreign}
    done = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env={**inherited, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def build_options() -> list[str]:
    """With what the build needs here no network is needed; otherwise the builder fetches it."""
    has_setuptools = int(version("setuptools").partition(".")[0]) >= SETUPTOOLS_MAJOR_MIN
    has_client = version(CLIENT) == pinned_client(REPOSITORY / "pyproject.toml")
    return ["--no-isolation"] if has_setuptools and has_client else []


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the project as the container's build sees it, made of links."""
    folder = tmp_path_factory.mktemp("source")
    for line in (REPOSITORY / ".dockerignore").read_text().split():
        if line.startswith("!"):
            link = folder / line[1:]
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(REPOSITORY / line[1:])
    return folder


@pytest.fixture(scope="session")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the folder of the source archive and of the wheel made of it, and what was printed."""
    (source / "MANIFEST.in").symlink_to(REPOSITORY / "MANIFEST.in")
    out = tmp_path_factory.mktemp("dist")
    said = run(sys.executable, "-m", "build", *build_options(), "--outdir", out, folder=source)
    return out, said


@pytest.fixture(scope="session")
def wheel(built: tuple[Path, str]) -> Path:
    [found] = built[0].glob("mock_kafka-*.whl")
    return found
