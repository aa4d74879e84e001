"""The Rust crate of clients/rust: its tests, a first test in an empty folder, generated code."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.mock_kafka_program import with_mock_kafka

ROOT = Path(__file__).parent.parent.parent
CRATE = ROOT / "clients" / "rust"
QUICKSTART = ROOT / "docs" / "quickstart.md"
_TIMEOUT_S = 900  # the first time all crates are compiled

pytestmark = [pytest.mark.interop, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _cargo() -> None:
    """Download what the tests need; skip if there is no cargo or no registry."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not here")
    done = cargo(CRATE, "fetch", "--locked")
    if done.returncode != 0:
        pytest.skip(f"cargo got no crates: {done.stderr}")


def cargo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run cargo; tests start the `mock-kafka` of this environment."""
    return subprocess.run(
        ["cargo", *arguments],
        cwd=folder,
        env=with_mock_kafka({"CARGO_TARGET_DIR": str(CRATE / "target")}),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )


def succeed(folder: Path, *arguments: str) -> str:
    """Run cargo, and return its output."""
    done = cargo(folder, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_generated_code_is_fresh(tmp_path: Path) -> None:
    fresh = tmp_path / "generated.rs"
    inputs = [str(ROOT / "clients" / name) for name in ("openapi.json", "methods.json")]
    succeed(CRATE, "run", "--locked", "-p", "generate", *inputs, str(fresh))
    kept = CRATE / "src" / "generated.rs"
    assert kept.read_text(encoding="utf-8") == fresh.read_text(encoding="utf-8"), (
        "run in clients/rust: "
        "cargo run -p generate ../openapi.json ../methods.json src/generated.rs"
    )


def test_the_version_is_that_of_the_program() -> None:
    metadata = succeed(CRATE, "pkgid", "-p", "mock-kafka").strip()
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.+)"', project, re.MULTILINE)
    assert version is not None
    assert metadata.endswith(f"@{version[1]}")


@pytest.mark.long
def test_the_tests_of_the_crate_pass() -> None:
    succeed(CRATE, "fmt", "--all", "--check")
    succeed(CRATE, "clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings")
    succeed(CRATE, "test", "--locked", "--workspace")


@pytest.mark.long
def test_the_first_test_of_the_quickstart_passes_in_an_empty_folder(tmp_path: Path) -> None:
    page = QUICKSTART.read_text(encoding="utf-8")
    test = re.search(r"```rust\n(.*?)```", page, re.DOTALL)
    assert test is not None
    commands = re.findall(r"^\$ cargo (add .*)$", page, re.MULTILINE)
    project = tmp_path / "shop"
    succeed(tmp_path, "new", "--lib", str(project))
    # Crates in the versions that are compiled already.
    shutil.copy(CRATE / "Cargo.lock", project)
    for command in commands:
        succeed(project, *command.replace("path/to/mock-kafka/clients/rust", str(CRATE)).split())
    (project / "src" / "lib.rs").write_text(test[1], encoding="utf-8")
    assert "1 passed" in succeed(project, "test")
