"""Build the package for Java, and run Maven with it, in a local repository of this checkout."""

import fcntl
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from scenarios.maven import CACHE, CannotRunError
from tests.clients.mock_kafka_program import with_mock_kafka

ROOT = Path(__file__).parent.parent.parent
CLIENTS = ROOT / "clients"
PAGE = CLIENTS / "java" / "README.md"
# Of this checkout alone: others may have the same version of the package with other contents.
LOCAL_REPOSITORY = CACHE / f"maven-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:16]}"
_INSTALLED = LOCAL_REPOSITORY / "mock-kafka.sha256"
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # half of the CPU time of a build
_TIMEOUT_S = 600  # the first time all plugins and dependencies are fetched
_NO_REPOSITORY = ("Could not transfer artifact", "Unknown host", "cannot access central")

_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId><artifactId>orders</artifactId><version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  {}
  <build>
    <plugins>
      <plugin><artifactId>maven-surefire-plugin</artifactId><version>3.5.2</version></plugin>
      <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.13.0</version></plugin>
      <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.1</version></plugin>
    </plugins>
  </build>
</project>
"""


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


def run_maven(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Run Maven in a folder, with the program `mock-kafka` on the PATH; return what it prints.

    Args:
        folder: the folder.
        arguments: goals and options.
        environment: further environment variables.

    Raises:
        CannotRunError: there is no Java, no Maven, or no Maven Central.
        AssertionError: Maven failed; the message has what it printed.
    """
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise CannotRunError(f"{program} is not here")
    options = [f"-Dmaven.repo.local={LOCAL_REPOSITORY}", f"-DargLine={_SHORT_LIVED}"]
    done = subprocess.run(
        ["mvn", "--batch-mode", *options, *arguments],
        cwd=folder,
        env=with_mock_kafka({"MAVEN_OPTS": _SHORT_LIVED, **(environment or {})}),
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


def first_test() -> tuple[str, str]:
    """Return the dependencies and the first test of the package's page."""
    page = PAGE.read_text(encoding="utf-8")
    [dependencies] = re.findall(r"```xml\n(<dependencies>.*?)```", page, re.DOTALL)
    test, *_ = re.findall(r"```java\n(.*?)```", page, re.DOTALL)
    return dependencies, test


def write_project(folder: Path, dependencies: str, test: str) -> None:
    """Write a project with one file of tests into an empty folder.

    Args:
        folder: the folder.
        dependencies: elements of its pom.xml.
        test: the file.
    """
    (folder / "pom.xml").write_text(_POM.format(dependencies), encoding="utf-8")
    source = folder / "src" / "test" / "java" / "shop" / "OrdersTest.java"
    source.parent.mkdir(parents=True)
    source.write_text(test, encoding="utf-8")


def forget_java_package() -> None:
    """Remove the artefacts from the local repository, so that Maven takes them from another one."""
    with _locked():
        _INSTALLED.unlink(missing_ok=True)
        shutil.rmtree(LOCAL_REPOSITORY / "io" / "mockkafka", ignore_errors=True)


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
