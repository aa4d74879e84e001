"""Build the package for Java, and run Maven with it, in a local repository of this checkout."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scenarios.maven import CACHE, CannotRunError

ROOT = Path(__file__).parent.parent.parent
CLIENTS = ROOT / "clients"
# Of this checkout alone: others may have the same version of the package with other contents.
LOCAL_REPOSITORY = CACHE / f"maven-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:16]}"
_INSTALLED = LOCAL_REPOSITORY / "mock-kafka.sha256"
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # half of the CPU time of a build
_TIMEOUT_S = 600  # the first time all plugins and dependencies are fetched
_NO_REPOSITORY = ("Could not transfer artifact", "Unknown host", "cannot access central")


def install_java_package(*, with_tests: bool = False) -> str:
    """Install the artefacts, unless those of the same sources are; return what Maven prints.

    Args:
        with_tests: run the tests of the package first, also if it is installed.

    Raises:
        CannotRunError: there is no Java, no Maven, or no Maven Central.
    """
    digest = _digest_of_sources()
    with _locked():
        if not with_tests and _INSTALLED.exists() and _INSTALLED.read_text() == digest:
            return ""
        _INSTALLED.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            copy = Path(folder) / "clients"
            ignored = shutil.ignore_patterns("target")
            shutil.copytree(CLIENTS / "java", copy / "java", ignore=ignored)
            shutil.copy(CLIENTS / "openapi.json", copy)
            options = [] if with_tests else ["-DskipTests"]
            output = run_maven(copy / "java", "install", *options)
        _INSTALLED.write_text(digest)
        return output


def run_maven(folder: Path, *arguments: str) -> str:
    """Run Maven in a folder, with the program `mock-kafka` on the PATH; return what it prints.

    Raises:
        CannotRunError: there is no Java, no Maven, or no Maven Central.
        AssertionError: Maven failed; the message has what it printed.
    """
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise CannotRunError(f"{program} is not here")
    options = [f"-Dmaven.repo.local={LOCAL_REPOSITORY}", f"-DargLine={_SHORT_LIVED}"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["mvn", "--batch-mode", *options, *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path, "MAVEN_OPTS": _SHORT_LIVED},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    output = done.stdout + done.stderr
    if done.returncode != 0 and any(reason in output for reason in _NO_REPOSITORY):
        raise CannotRunError(f"Maven Central can't be reached: {output[-500:]}")
    assert done.returncode == 0, output
    return output


def _digest_of_sources() -> str:
    digest = hashlib.sha256((CLIENTS / "openapi.json").read_bytes())
    java = CLIENTS / "java"
    for path in sorted(java.rglob("*")):
        if path.is_file() and "target" not in path.relative_to(java).parts:
            digest.update(f"\n{path.relative_to(java)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


@contextmanager
def _locked() -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with LOCAL_REPOSITORY.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # workers of pytest build one after another
        yield
