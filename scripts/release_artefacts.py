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
from collections.abc import Iterable, Mapping
from pathlib import Path

from scripts import documentation_site
from scripts.executable_build import build as build_executable
from scripts.executable_build import start_s, version
from scripts.release_version import ROOT, ReleaseError, notes
from tests.clients import java_package, node_package, test_go

FIRST_PYTHON_TEST = re.compile(r"```python\n(from kafka import .*?)```", re.DOTALL)
FIRST_NODE_TEST = re.compile(r"```js\n(// orders\.test\.mjs\n.*?)```", re.DOTALL)
TEST_TOOLS = ("iniconfig", "kafka-python", "packaging", "pluggy", "pygments", "pytest")
FIRST_GO_TEST = """\
package shop

import (
	"testing"

	"{path}/mockkafka"
)

func TestAnOrderIsStored(t *testing.T) {{
	if mockkafka.Version != "{version}" {{
		t.Fatal(mockkafka.Version)
	}}
	kafka := mockkafka.Start(t)
	if topics := kafka.Topics(); len(topics) != 0 {{
		t.Errorf("topics: %v", topics)
	}}
}}
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
        """Write the module as a module proxy has it, and run a test with it."""
        proxy = self.out / "go-proxy"
        url = test_go.publish(proxy)
        project = self.folder("go-project")
        path = test_go.module_path()
        text = FIRST_GO_TEST.format(path=path, version=version())
        (project / "shop_test.go").write_text(text, encoding="utf-8")
        environment = {
            "GOPROXY": url,
            "GONOSUMDB": "*",
            "GOMODCACHE": str(self.scratch / "go-modules"),
            "GOFLAGS": "-modcacherw",
            "MOCK_KAFKA_COMMAND": str(self.program()),
        }
        run(["go", "mod", "init", "example.test/shop"], project, environment)
        run(["go", "get", f"{path}@{test_go.module_version()}"], project, environment)
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
        page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
        [test] = FIRST_NODE_TEST.findall(page)
        (project / "orders.test.mjs").write_text(test, encoding="utf-8")
        expect("# pass 1", run(["node", "--test"], project, environment))
        return [tarball]

    def site(self) -> list[Path]:
        """Build the documentation, whose links are checked, as an archive."""
        folder = self.folder("site")
        documentation_site.build_all(ROOT, [], folder)
        archive = shutil.make_archive(str(self.out / "site"), "gztar", folder)
        return [Path(archive)]

    def executable(self) -> list[Path]:
        """Build the program as one file for this system, and start it."""
        program = build_executable(self.out)
        start_s(program, self.folder("executable-cache"))
        return [program]

    def rust_crate(self) -> list[Path]:
        """Pack the crate, and compile it as a user's cargo does."""
        target = java_package.ROOT / "clients" / "rust" / "target"
        command = ["cargo", "package", "--locked", "--allow-dirty", "-p", "mock-kafka"]
        run(command, ROOT / "clients" / "rust", {"CARGO_TARGET_DIR": str(target)})
        packed = target / "package" / f"mock-kafka-{version()}.crate"
        return [Path(shutil.copy(packed, self.out))]

    def java_artefacts(self) -> list[Path]:
        """Deploy both artefacts into a Maven repository in a folder."""
        repository = self.out / "maven"
        copy = self.folder("java-build")
        ignored = shutil.ignore_patterns("target")
        shutil.copytree(ROOT / "clients" / "java", copy / "java", ignore=ignored)
        shutil.copy(ROOT / "clients" / "openapi.json", copy)
        where = f"-DaltDeploymentRepository=folder::{repository.as_uri()}"
        profile = ["-Prelease", "-Dgpg.skip", "-DskipTests"]
        java_package.run_maven(copy / "java", "deploy", *profile, where)
        return sorted(repository.rglob("*.jar"))

    def program(self) -> Path:
        """Return the program `mock-kafka` of the environment with the wheel, else this one's."""
        installed = self.python.with_name("mock-kafka")
        return installed if installed.exists() else Path(sys.executable).with_name("mock-kafka")


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
