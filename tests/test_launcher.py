"""The launcher of mock-kafka as one file unpacks once, into a folder where nobody else writes.

Its content here is a script in place of Python, so that this is quick.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.executable_build import LAUNCHER, SYSTEMS, compile_launcher, compressed, tar_of
from tests.executable import IS_WINDOWS, PYTHON, Executable, missing_tools

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(IS_WINDOWS, reason="a script is no program there"),
    pytest.mark.xdist_group("executable"),  # one worker compiles it
]

SCRIPT = """\
#!/bin/sh
echo "mock-kafka $3"
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the launcher around a script that prints its third argument."""
    if missing := missing_tools("cargo", "cc"):
        pytest.skip(f"to compile the launcher, {missing} must be there")
    manifest = str(LAUNCHER / "Cargo.toml")
    fetch = ["cargo", "fetch", "--locked", "--quiet", "--manifest-path", manifest]
    if subprocess.run(fetch, check=False).returncode:
        pytest.skip("to compile the launcher, a registry of crates must be reached")
    folder = tmp_path_factory.mktemp("launcher")
    script = folder / "content" / PYTHON
    script.parent.mkdir(parents=True)
    script.write_text(SCRIPT)
    archive = folder / "content.tar.zst"
    archive.write_bytes(compressed(tar_of(folder / "content", PYTHON)))
    with pytest.MonkeyPatch.context() as patch:
        # To optimise what unpacks a script takes twice as long as to compile it.
        patch.setenv("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        return compile_launcher(SYSTEMS["linux", "x86_64"], archive, folder)


@pytest.fixture
def new_user(program: Path, tmp_path: Path) -> Executable:
    """Return the file as somebody has it who never ran it."""
    return Executable(program, tmp_path)


def test_the_first_run_unpacks_and_later_runs_do_not(new_user: Executable) -> None:
    assert new_user.run("--version").startswith("mock-kafka ")
    [folder] = new_user.unpacked()
    changed_ns = folder.stat().st_mtime_ns
    python = folder / PYTHON
    python.touch()
    touched_ns = python.stat().st_mtime_ns
    assert new_user.run("--version").startswith("mock-kafka ")
    assert new_user.unpacked() == [folder]
    assert (folder.stat().st_mtime_ns, python.stat().st_mtime_ns) == (changed_ns, touched_ns)
    # It writes nowhere else.
    assert not [*new_user.home.iterdir(), *new_user.cwd.iterdir()]


def test_a_removed_cache_is_made_again(new_user: Executable) -> None:
    new_user.run("--version")
    shutil.rmtree(new_user.cache)
    new_user.run("--version")
    assert len(new_user.unpacked()) == 1


def test_processes_that_start_together_unpack_one_folder(new_user: Executable) -> None:
    processes = [
        subprocess.Popen(
            [new_user.program, "--version"],
            env=new_user.environment,
            cwd=new_user.cwd,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.communicate(timeout=120)[0].startswith("mock-kafka ")
    assert len(new_user.unpacked()) == 1


def test_a_folder_that_others_may_write_is_not_used(new_user: Executable, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    shared = new_user.cache / "mock-kafka" / "unpacked"
    shared.mkdir(parents=True)
    shared.chmod(0o777)
    environment = {**new_user.environment, "TMPDIR": str(temporary)}
    assert new_user.run("--version", environment=environment).startswith("mock-kafka ")
    assert not [*shared.iterdir()]
    [place] = temporary.iterdir()
    assert place.name == f"mock-kafka-{os.geteuid()}"
    assert place.stat().st_mode & 0o777 == 0o700


def test_without_a_home_it_uses_the_temporary_folder_or_says_what_to_do(
    new_user: Executable, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    environment = {"HOME": f"{file}/home", "TMPDIR": str(tmp_path)}
    assert new_user.run("--version", environment=environment).startswith("mock-kafka ")
    said = new_user.run("--version", environment={"TMPDIR": f"{file}/tmp"}, status=1)
    assert said.startswith("mock-kafka: it unpacks itself once, and found no folder to do so;")
    assert "set XDG_CACHE_HOME" in said
