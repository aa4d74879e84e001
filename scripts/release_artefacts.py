"""Build each part of a release into a folder, and check it from an empty one.

A check installs from folders: what is checked is the file that would be published.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from scripts import documentation_site
from scripts.executable_build import build as build_executable
from scripts.executable_build import version
from scripts.release_version import ROOT, ReleaseError, notes
from tests.clients import java_package, node_package, test_go

FIRST_PYTHON_TEST = re.compile(r"```python\n(from kafka import .*?)```", re.DOTALL)
FIRST_NODE_TEST = re.compile(r"```js\n(// orders\.test\.mjs\n.*?)```", re.DOTALL)
FIRST_GO_TEST = re.compile(r"```go\n(package .*?)```", re.DOTALL)
FIRST_RUST_TEST = re.compile(r"```rust\n(.*?)```", re.DOTALL)
CARGO_COMMAND = re.compile(r"^\$ cargo (add .*)$", re.MULTILINE)
TEST_TOOLS = ("iniconfig", "kafka-python", "packaging", "pluggy", "pygments", "pytest")
FIRST_EXECUTABLE_TEST = """\
import sys
from kafka import KafkaConsumer, KafkaProducer
from mock_kafka import MockKafka

with MockKafka(command=[sys.argv[1]]) as kafka:
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    producer.send("orders", b"one coffee").get(timeout=30)
    producer.close()
    consumer = KafkaConsumer(
        "orders", bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest"
    )
    print(next(consumer).value.decode())
    consumer.close()
"""
REPOSITORY_OF_MAVEN = """\
<repositories><repository><id>dist</id><url>{url}</url></repository></repositories>
"""


class Rehearsal:
    """A folder for what is built, and one for what is tried with it."""

    def __init__(self, out: Path, scratch: Path, released: str | None) -> None:
        self.out = out
        self.scratch = scratch
        self.released = released
        """The version of the tag; None is the checkout's."""
        self.python = scratch / "environment" / "bin" / "python"

    def folder(self, name: str) -> Path:
        """Return a new empty folder to try something in."""
        folder = self.scratch / name
        folder.mkdir(parents=True)
        return folder

    def notes(self) -> list[Path]:
        """Write the release notes."""
        path = self.out / "RELEASE_NOTES.md"
        path.write_text(notes(ROOT, self.released), encoding="utf-8")
        return [path]

    def python_package(self) -> list[Path]:
        """Build the source archive and the wheel twice, and run the first test with the wheel."""
        environment = {"SOURCE_DATE_EPOCH": commit_time_s()}
        folders = [self.folder("first-build"), self.folder("second-build")]
        for folder in folders:
            build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
            run(build, ROOT, environment)
        first, second = (sorted(folder.iterdir()) for folder in folders)
        for path, again in zip(first, second, strict=True):
            if path.name != again.name or path.read_bytes() != again.read_bytes():
                raise ReleaseError(f"two builds of {path.name} differ")
        for path in first:
            shutil.copy(path, self.out)
        self.install_wheel()
        run_python = [str(self.python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        [test] = FIRST_PYTHON_TEST.findall((ROOT / "README.md").read_text(encoding="utf-8"))
        project = self.folder("python-project")
        (project / "test_orders.py").write_text(test, encoding="utf-8")
        expect("1 passed", run(run_python, project))
        return [self.out / path.name for path in first]

    def install_wheel(self) -> None:
        """Install the wheel and its dependencies from folders into an empty environment."""
        links = self.folder("wheels")
        wanted = self.scratch / "tools.txt"
        wanted.write_text(pinned(ROOT / "requirements" / "dev.txt", TEST_TOOLS), encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        runtime = str(ROOT / "requirements" / "runtime.txt")
        for requirements in (runtime, str(wanted)):
            download = ["download", "--no-deps", "--require-hashes", "-d", str(links)]
            run([*pip, *download, "-r", requirements], self.scratch)
        environment = self.python.parent.parent
        run([sys.executable, "-m", "venv", "--without-pip", str(environment)], self.scratch)
        offline = ["install", "--no-index", "--find-links", str(links)]
        here = ["--find-links", str(self.out), f"mock-kafka=={version()}"]
        tools = ["kafka-python", "pytest"]
        run([*pip, "--python", str(self.python), *offline, *here, *tools], self.scratch)

    def bill_of_materials(self) -> list[Path]:
        """Write what the wheel brings with it (CycloneDX), and compare it with the pins."""
        path = self.out / f"mock-kafka-{version()}.cdx.json"
        command = [sys.executable, "-m", "cyclonedx_py", "requirements", "--output-reproducible"]
        pins = ROOT / "requirements" / "runtime.txt"
        options = ["--pyproject", str(ROOT / "pyproject.toml"), "-o", str(path), str(pins)]
        run([*command, *options], ROOT)
        document = json.loads(path.read_text(encoding="utf-8"))
        listed = {each["name"].lower() for each in document["components"]}
        missing = names_of(pins) - listed
        if missing or document["metadata"]["component"]["version"] != version():
            raise ReleaseError(f"{path.name} is not that of {version()}: {sorted(missing)}")
        return [path]

    def go_module(self) -> list[Path]:
        """Write the module as a module proxy has it, and run its first test."""
        proxy = self.out / "go-proxy"
        url = test_go.publish(proxy)
        project = self.folder("go-project")
        (project / "orders_test.go").write_text(first(FIRST_GO_TEST), encoding="utf-8")
        environment = {
            "GOPROXY": url,
            "GONOSUMDB": "*",
            "GOMODCACHE": str(self.scratch / "go-modules"),
            "GOFLAGS": "-modcacherw",
            "MOCK_KAFKA_COMMAND": str(self.program()),
        }
        tests = test_go.MODULE / "tests"
        client = run(["go", "list", "-m", "github.com/twmb/franz-go"], tests).split()
        others = run(["go", "env", "GOPROXY"], project).strip()
        run(["go", "mod", "init", "example.test/shop"], project, environment)
        package = f"{test_go.module_path()}@{test_go.module_version()}"
        run(["go", "get", package], project, environment)
        environment["GOPROXY"] = f"{url},{others}"
        run(["go", "mod", "edit", f"-require={'@'.join(client)}"], project)
        run(["go", "mod", "tidy"], project, environment)
        expect("--- PASS", run(["go", "test", "-count=1", "-v", "./..."], project, environment))
        return sorted(proxy.rglob("*.zip"))

    def node_package(self) -> list[Path]:
        """Pack the npm package, and run its first test."""
        built = node_package.build_node_package(self.folder("node-build"))
        tarball = Path(shutil.copy(built.tarball, self.out))
        project = self.folder("node-project")
        install = ["npm", "install", "--no-audit", "--no-fund", "--prefer-offline"]
        environment = {"MOCK_KAFKA_COMMAND": str(self.program())}
        run([*install, str(tarball), "kafkajs@2.2.4"], project)
        (project / "orders.test.mjs").write_text(first(FIRST_NODE_TEST), encoding="utf-8")
        expect("# pass 1", run(["node", "--test"], project, environment))
        return [tarball]

    def site(self) -> list[Path]:
        """Build the documentation, whose links are checked, as an archive."""
        folder = self.folder("site")
        documentation_site.build_all(ROOT, [], folder)
        archive = shutil.make_archive(str(self.out / "site"), "gztar", folder)
        return [Path(archive)]

    def executable(self) -> list[Path]:
        """Build the program as one file for this system; produce and fetch with it."""
        program = build_executable(self.out)
        project = self.folder("executable-project")
        test = project / "produce_and_fetch.py"
        test.write_text(FIRST_EXECUTABLE_TEST, encoding="utf-8")
        python = self.python if self.python.exists() else Path(sys.executable)
        cache = str(self.folder("executable-cache"))
        environment = {"XDG_CACHE_HOME": cache, "LOCALAPPDATA": cache}
        expect(
            "one coffee", run([str(python), "-I", str(test), str(program)], project, environment)
        )
        return [program]

    def rust_crate(self) -> list[Path]:
        """Pack the crate, and run its first test with it."""
        crate = ROOT / "clients" / "rust"
        environment = {
            "CARGO_TARGET_DIR": str(crate / "target"),
            "MOCK_KAFKA_COMMAND": str(self.program()),
        }
        # Not verified: the test compiles it.
        command = ["cargo", "package", "--locked", "--allow-dirty", "--no-verify"]
        run([*command, "-p", "mock-kafka"], crate, environment)
        name = f"mock-kafka-{version()}"
        packed = Path(shutil.copy(crate / "target" / "package" / f"{name}.crate", self.out))
        project = self.folder("rust-project")
        with tarfile.open(packed) as archive:
            archive.extractall(self.scratch, filter="data")
        run(["cargo", "init", "--quiet", "--lib", "--name", "shop"], project, environment)
        shutil.copy(crate / "Cargo.lock", project)  # the versions that are compiled already
        page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
        for add in CARGO_COMMAND.findall(page):
            words = add.replace("path/to/mock-kafka/clients/rust", str(self.scratch / name))
            run(["cargo", *words.split()], project, environment)
        (project / "src" / "lib.rs").write_text(first(FIRST_RUST_TEST), encoding="utf-8")
        expect("1 passed", run(["cargo", "test"], project, environment))
        return [packed]

    def java_artefacts(self) -> list[Path]:
        """Deploy both artefacts into a Maven repository in a folder, and run the first test."""
        repository = self.out / "maven"
        copy = self.folder("java-build")
        ignored = shutil.ignore_patterns("target")
        shutil.copytree(ROOT / "clients" / "java", copy / "java", ignore=ignored)
        shutil.copy(ROOT / "clients" / "openapi.json", copy)
        where = f"-DaltDeploymentRepository=folder::{repository.as_uri()}"
        profile = ["-Prelease", "-Dgpg.skip", "-DskipTests"]
        java_package.run_maven(copy / "java", "deploy", *profile, where)
        java_package.forget_java_package()
        project = self.folder("java-project")
        dependencies, test = java_package.first_test()
        here = REPOSITORY_OF_MAVEN.format(url=repository.as_uri())
        java_package.write_project(project, here + dependencies, test)
        environment = {"MOCK_KAFKA_COMMAND": str(self.program())}
        output = java_package.run_maven(project, "test", environment=environment)
        expect("Tests run: 1, Failures: 0, Errors: 0, Skipped: 0", output)
        return sorted(repository.rglob("*.jar"))

    def program(self) -> Path:
        """Return the program `mock-kafka` of the environment with the wheel, else this one's."""
        installed = self.python.with_name("mock-kafka")
        return installed if installed.exists() else Path(sys.executable).with_name("mock-kafka")


def first(pattern: re.Pattern[str]) -> str:
    """Return the first test of a language in docs/quickstart.md."""
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    return str(pattern.findall(page)[0])


def checksums(out: Path, paths: Iterable[Path]) -> Path:
    """Write SHA256SUMS, as `sha256sum --check` reads it."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(out).as_posix()}\n"
        for path in sorted(paths)
    ]
    target = out / "SHA256SUMS"
    target.write_text("".join(lines), encoding="utf-8")
    return target


def commit_time_s() -> str:
    """Return the time of the commit, which dates the files of archives."""
    return run(["git", "log", "-1", "--format=%ct"], ROOT).strip()


def pinned(path: Path, wanted: Iterable[str]) -> str:
    """Return the lines of some packages of a file of requirements, with their hashes."""
    entries = re.split(r"\n(?=\S)", path.read_text(encoding="utf-8"))
    kept = [each for each in entries if re.split(r"[=\[ ]", each)[0] in set(wanted)]
    return "\n".join(kept) + "\n"


def names_of(path: Path) -> set[str]:
    """Return the names of the packages in a file of requirements."""
    return set(re.findall(r"^([a-z0-9-]+)", path.read_text(encoding="utf-8"), re.MULTILINE))


def run(words: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Return what a command prints, on both streams.

    Raises:
        ReleaseError: it is not installed, or fails; the message has the end of what it printed.
    """
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise ReleaseError(f"{words[0]} is not here") from error
    if done.returncode != 0:
        raise ReleaseError(f"{' '.join(words)} failed:\n{done.stdout[-2000:]}")
    return done.stdout


def expect(part: str, output: str) -> None:
    """Raise a ReleaseError unless the output of a test has this part."""
    if part not in output:
        raise ReleaseError(f"not {part!r} in:\n{output[-2000:]}")
