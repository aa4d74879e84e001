"""The Go package of clients/go: its own tests, a first test in an empty folder, generated code."""

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.clients.mock_kafka_program import with_mock_kafka

ROOT = Path(__file__).parent.parent.parent
MODULE = ROOT / "clients" / "go"
QUICKSTART = ROOT / "docs" / "quickstart.md"
_TIMEOUT_S = 300  # the first time all of franz-go is compiled

pytestmark = [pytest.mark.interop, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _go() -> None:
    if shutil.which("go") is None:
        pytest.skip("go is not here")


def go(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command go; its tests start the `mock-kafka` of this environment."""
    return subprocess.run(
        ["go", *arguments],
        cwd=folder,
        env=with_mock_kafka(environment),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )


def succeed(folder: Path, *arguments: str, **environment: str) -> str:
    """Run the command go, and return its output."""
    done = go(folder, *arguments, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def download(folder: Path) -> None:
    """Download what the tests of a module need; skip if there is no module proxy."""
    done = go(folder, "mod", "download")
    if done.returncode != 0:
        pytest.skip(f"go got no client: {done.stderr}")


def module_version() -> str:
    """Return the version of the package, which is that of mock-kafka."""
    types = (MODULE / "mockkafka" / "types_generated.go").read_text(encoding="utf-8")
    found = re.search(r'const Version = "(.+)"', types)
    assert found is not None
    return f"v{found[1]}"


def module_path() -> str:
    """Return the path of the module, as go.mod has it."""
    return (MODULE / "go.mod").read_text(encoding="utf-8").split()[1]


def publish(folder: Path) -> str:
    """Write the module into a folder as a module proxy has it; return the URL of this proxy."""
    path, version = module_path(), module_version()
    files = folder / path / "@v"
    files.mkdir(parents=True)
    (files / "list").write_text(f"{version}\n", encoding="utf-8")
    (files / f"{version}.info").write_text(json.dumps({"Version": version}), encoding="utf-8")
    shutil.copy(MODULE / "go.mod", files / f"{version}.mod")
    nested = {mod.parent for mod in MODULE.glob("*/**/go.mod")}
    with zipfile.ZipFile(files / f"{version}.zip", "w") as archive:
        for file in sorted(MODULE.rglob("*")):
            if file.is_file() and not nested & set(file.parents):
                archive.write(file, f"{path}@{version}/{file.relative_to(MODULE)}")
    return folder.as_uri()


def test_the_tests_of_the_package_pass() -> None:
    succeed(MODULE, "vet", "./...")
    succeed(MODULE, "test", "-count=1", "./...")


@pytest.mark.long
def test_the_package_has_no_data_race() -> None:
    if succeed(MODULE, "env", "CGO_ENABLED").strip() != "1" or shutil.which("gcc") is None:
        pytest.skip("the race detector needs cgo")
    succeed(MODULE, "test", "-count=1", "-race", "./...")


def test_the_tests_with_a_client_pass() -> None:
    download(MODULE / "tests")
    succeed(MODULE / "tests", "vet", "./...")
    output = succeed(MODULE / "tests", "test", "-count=1", "-v", "./...")
    source = (MODULE / "tests" / "franz_test.go").read_text(encoding="utf-8")
    assert output.count("--- PASS") == source.count("\nfunc Test")  # none is skipped


def test_the_generated_code_is_fresh(tmp_path: Path) -> None:
    names = ("types_generated.go", "operations_generated.go", "methods_generated.go")
    fresh = [tmp_path / name for name in names]
    inputs = [ROOT / "clients" / name for name in ("openapi.json", "methods.json")]
    succeed(MODULE, "run", "./internal/generate", *map(str, inputs + fresh))
    for path in fresh:
        kept = MODULE / "mockkafka" / path.name
        assert kept.read_text(encoding="utf-8") == path.read_text(encoding="utf-8"), (
            "run: go generate ./... in clients/go"
        )
    unformatted = subprocess.run(
        ["gofmt", "-l", "."], cwd=MODULE, capture_output=True, text=True, check=True
    )
    assert unformatted.stdout == ""


def test_the_package_brings_no_other_module() -> None:
    assert succeed(MODULE, "list", "-m", "all").split() == [module_path()]


def test_the_first_test_of_the_quickstart_passes_in_an_empty_folder(tmp_path: Path) -> None:
    download(MODULE / "tests")
    page = QUICKSTART.read_text(encoding="utf-8")
    test = re.search(r"```go\n(package .*?)```", page, re.DOTALL)
    replacement = re.search(r"go mod edit -replace (\S+=)path/to/mock-kafka/clients/go\n", page)
    assert test is not None
    assert replacement is not None
    (tmp_path / "shop_test.go").write_text(test[1], encoding="utf-8")
    succeed(tmp_path, "mod", "init", "example.test/shop")
    succeed(tmp_path, "mod", "edit", "-replace", f"{replacement[1]}{MODULE}")
    # The client in the version that is compiled already.
    client = succeed(MODULE / "tests", "list", "-m", "github.com/twmb/franz-go").split()
    succeed(tmp_path, "mod", "edit", f"-require={'@'.join(client)}")
    succeed(tmp_path, "mod", "tidy")
    output = succeed(tmp_path, "test", "-count=1", "-v", "./...")
    assert output.count("--- PASS") == 1


def test_the_module_can_be_downloaded(tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    program = f"""
package main
import "{module_path()}/mockkafka"
func main() {{ println(mockkafka.Version) }}
"""
    (project / "main.go").write_text(program, encoding="utf-8")
    environment = {
        "GOPROXY": publish(tmp_path / "proxy"),
        "GONOSUMDB": "*",
        "GOMODCACHE": str(tmp_path / "modules"),  # the next one has the same version
        "GOFLAGS": "-modcacherw",
    }
    succeed(project, "mod", "init", "example.test/shop")
    succeed(project, "get", f"{module_path()}@{module_version()}", **environment)
    succeed(project, "vet", ".", **environment)
