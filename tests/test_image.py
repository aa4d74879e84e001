"""The container image: its rules, what is in it, and a cluster of three brokers that runs in it."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from mock_kafka.control import Control
from mock_kafka.health import wait_until_healthy
from tests.free_ports import free_port_run

CHECKOUT = Path(__file__).resolve().parent.parent
DOCKERFILE = (CHECKOUT / "Dockerfile").read_text()
NOT_BUILT = 3
SIZE_MAX_BYTES = 110_000_000
"""Uncompressed. It has one layer."""
READ_ONLY = """
mount --make-rprivate / && mount --bind "$1" "$1"
mkdir -p "$1/dev" "$1/proc" "$1/tmp"
mount --rbind /dev "$1/dev"   # as every container engine does
mount -t proc proc "$1/proc"
mount -o remount,ro,bind "$1"
root="$1"; shift
exec chroot --userspec=65534:65534 --groups= "$root" "$@"
"""


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the last stage: name and arguments."""
    text = re.sub(r"\\\n\s*", " ", re.sub(r"^\s*#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    found = [(name, rest) for name, _, rest in (line.partition(" ") for line in text.splitlines())]
    last = max(index for index, (name, _) in enumerate(found) if name == "FROM")
    return found[last:]


def test_the_last_stage_starts_from_nothing_and_runs_nothing() -> None:
    names = [name for name, _ in instructions()]
    assert instructions()[0] == ("FROM", "scratch")
    assert names.count("COPY") == 1
    assert not {"RUN", "ADD", "VOLUME", "SHELL"} & set(names)


def test_the_image_has_a_user_by_number_a_health_check_and_commands_without_a_shell() -> None:
    last = dict(instructions())
    user, _, group = last["USER"].partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert json.loads(last["ENTRYPOINT"]) == ["/opt/mock-kafka/bin/mock-kafka"]
    assert json.loads(last["CMD"]) == ["serve"]
    health = last["HEALTHCHECK"].partition("CMD ")[2]
    assert json.loads(health) == ["/opt/mock-kafka/bin/mock-kafka", "health"]
    assert last["EXPOSE"].split() == ["9092", "9099"]


def test_the_labels_say_what_it_is_and_which_version() -> None:
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', DOCKERFILE))
    assert labels.keys() == {
        *("title", "description", "version", "revision", "source", "licenses"),
    }
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    assert labels["title"] == project["name"]
    assert labels["description"] == project["description"]
    assert labels["licenses"] == project["license"]
    assert {labels[name] for name in ("version", "revision", "source")} == {
        *("$VERSION", "$REVISION", "$SOURCE"),
    }


def test_every_installed_package_has_hashes_and_the_context_has_named_files_only() -> None:
    installs = re.findall(r"pip (?:--\S+ )*install (.*?)(?: && |\n[A-Z]|$)", _joined(), re.DOTALL)
    assert len(installs) == 2
    for install in installs:
        assert "--require-hashes" in install or "--no-deps --no-build-isolation" in install
    assert (CHECKOUT / ".dockerignore").read_text().splitlines()[0] == "*"


def _joined() -> str:
    return re.sub(r"\\\n\s*", "", DOCKERFILE)


def test_the_tags_are_the_version_and_the_release_of_kafka_whose_behaviour_it_has() -> None:
    done = subprocess.run(
        [CHECKOUT / "scripts" / "image", "--tags"],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=True,
    )
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    assert done.stdout.split() == ["latest", project["version"], "4.4"]


@pytest.mark.slow
def test_the_root_has_a_python_that_runs_and_no_shell(tmp_path: Path) -> None:
    """Of this interpreter and an environment without packages."""
    environment, root = tmp_path / "environment", tmp_path / "root"
    python = Path(sys._base_executable)  # type: ignore[attr-defined]
    run(python, "-m", "venv", "--without-pip", environment)
    package = next(environment.glob("lib/python*/site-packages")) / "orders"
    (package / "tests").mkdir(parents=True)
    (package / "__init__.py").write_text("COUNT = 3\n")
    (package / "tests" / "test_orders.py").write_text("")
    run(python, "-m", "scripts.image_root", environment, root)
    names = {str(path.relative_to(root)) for path in root.rglob("*")}
    assert not [name for name in names if re.search(r"(^|/)(bash|sh|apt|pip|ensurepip)$", name)]
    assert not [name for name in names if "test_orders" in name]
    assert [name for name in names if re.search(r"/libc\.(so|musl)", name)]
    assert (root / "tmp").stat().st_mode & 0o7777 == 0o1777
    own = root / environment.relative_to("/") / "bin" / "python"
    program = "import asyncio, ctypes, ssl, zlib, orders, sys; print(orders.COUNT, sys.prefix)"
    words = ["chroot", "--userspec=65534:65534", str(root), "/" + str(own.relative_to(root)), "-c"]
    done = subprocess.run(
        [*words, program],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "cannot change root" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip(f"it takes root rights and folders that others may enter: {done.stderr}")
    assert done.stdout == f"3 {environment}\n", done.stderr


def run(*words: object) -> str:
    command = list(map(str, words))
    done = subprocess.run(
        command, cwd=CHECKOUT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Image:
    """An image in a folder of buildah, with a container whose files are in `root`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._buildah = ["buildah", "--root", folder / "storage", "--runroot", folder / "run"]
        self._buildah += ["--storage-driver", "vfs"]
        inspected = json.loads(run(*self._buildah, "inspect", "--type", "image", name))
        self.docker: dict[str, Any] = inspected["Docker"]
        self.config: dict[str, Any] = self.docker["config"]
        container = run(*self._buildah, "from", "--pull-never", name).strip()
        self.root = Path(run(*self._buildah, "mount", container).strip())

    @contextmanager
    def serving(self, *arguments: str, **variables: str) -> Iterator["subprocess.Popen[bytes]"]:
        """Run it as its user in a system that is read-only, with other variables."""
        process = subprocess.Popen(
            self.command_line([*self.config["Entrypoint"], *arguments]),
            env=self._variables(variables),
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)

    def healthy(self, **variables: str) -> int:
        """Return the exit status of its health check."""
        kind, *command = self.config["Healthcheck"]["Test"]
        assert kind == "CMD"
        done = subprocess.run(
            self.command_line(command), env=self._variables(variables), timeout=60, check=False
        )
        return done.returncode

    def command_line(self, command: list[str]) -> list[str]:
        assert self.config["User"] == "65534:65534"
        return ["unshare", "--mount", "bash", "-euc", READ_ONLY, "bash", str(self.root), *command]

    def _variables(self, own: dict[str, str]) -> dict[str, str]:
        pairs = (text.partition("=") for text in self.config["Env"])
        image = {name: value for name, _, value in pairs}
        path = {"PATH": f"{image['PATH']}:/usr/sbin:/usr/bin:/sbin:/bin"}  # of `unshare`
        return {**image, **path, **own}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    folder = tmp_path_factory.mktemp("image")
    done = subprocess.run(
        [CHECKOUT / "scripts" / "image", "--debian", folder],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    if done.returncode == NOT_BUILT:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    yield Image(folder, done.stdout.strip())
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.long
@pytest.mark.interop
def test_the_image_serves_three_brokers_as_nobody_from_a_system_that_is_read_only(
    image: Image,
) -> None:
    port, admin_port = free_port_run(4), free_port_run(1)
    variables = {"MOCK_KAFKA_PORT": str(port), "MOCK_KAFKA_ADMIN_PORT": str(admin_port)}
    assert image.healthy(**variables) == 1
    with image.serving("serve", "--brokers", "3", **variables) as process:
        control = Control(f"http://127.0.0.1:{admin_port}")
        wait_until_healthy(control, 60)
        assert image.healthy(**variables) == 0
        producer = Producer({"bootstrap.servers": f"localhost:{port}"})
        producer.produce("orders", b"coffee")
        assert producer.flush(60) == 0
        assert len(control.ask("GET", "/v1/brokers")) == 3
        [topic] = control.ask("GET", "/v1/topics")
        assert topic["name"] == "orders"
        for number in range(3):  # of the host that it advertises, each broker
            socket.create_connection(("localhost", port + number), 10).close()
        process.terminate()
        assert process.wait(30) == 0
        control.close()


@pytest.mark.long
def test_the_image_is_small_and_has_no_shell_no_pip_and_no_tests(image: Image) -> None:
    paths = [path for path in image.root.rglob("*") if path.is_file() and not path.is_symlink()]
    names = {path.name for path in paths}
    assert not {"sh", "bash", "dpkg", "apt", "pip", "pip3"} & names
    assert not [path for path in paths if {"tests", "test", "ensurepip"} & set(path.parts)]
    size_bytes = sum(path.stat().st_size for path in paths)
    assert size_bytes < SIZE_MAX_BYTES
    [layer] = image.docker["rootfs"]["diff_ids"]
    assert layer
    labels = image.config["Labels"]
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    assert labels["org.opencontainers.image.version"] == project["version"]
    assert labels["org.opencontainers.image.licenses"] == project["license"]
