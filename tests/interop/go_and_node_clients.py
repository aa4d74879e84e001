"""Build the programs of franz-go, sarama, kafka-go, kafkajs and @platformatic/kafka."""

import shutil
from pathlib import Path

from scenarios.maven import CACHE, CannotRunError
from scenarios.toolchain import run_tool
from tests.interop.client_program import ClientProgram

KAFKAJS_VERSION = "2.2.4"
PLATFORMATIC_VERSION = "1.35.0"
"""The newest one that runs on Node 20: 2.x needs Node 22.22."""
FOLDER = Path(__file__).parent


def build_franz_go(folder: Path) -> ClientProgram:
    """Build franz-go's program.

    Raises:
        CannotRunError: there is no Go, or no module proxy.
    """
    return _build_go("go", folder)


def build_sarama(folder: Path) -> ClientProgram:
    """Build sarama's program, which produces, or works with access control lists.

    Raises:
        CannotRunError: there is no Go, or no module proxy.
    """
    return _build_go("sarama", folder)


def build_kafka_go(folder: Path) -> ClientProgram:
    """Build kafka-go's program, which works with access control lists.

    Raises:
        CannotRunError: there is no Go, or no module proxy.
    """
    return _build_go("kafka-go", folder)


def _build_go(source: str, folder: Path) -> ClientProgram:
    program = folder / "clients"
    run_tool("go", ["build", "-o", str(program), "."], FOLDER / source)
    return ClientProgram([str(program)])


def install_kafkajs(_: Path) -> ClientProgram:
    """Install kafkajs for its program, once for all test runs.

    Raises:
        CannotRunError: there is no node, or no registry.
    """
    return _install_node("kafkajs", KAFKAJS_VERSION, "clients.js")


def install_kafkajs_acls() -> ClientProgram:
    """Install kafkajs for its program for access control lists.

    Raises:
        CannotRunError: there is no node, or no registry.
    """
    return _install_node("kafkajs", KAFKAJS_VERSION, "kafkajs_acls.js")


def install_platformatic_acls() -> ClientProgram:
    """Install @platformatic/kafka for its program for access control lists.

    Raises:
        CannotRunError: there is no node, or no registry.
    """
    return _install_node("@platformatic/kafka", PLATFORMATIC_VERSION, "platformatic_acls.mjs")


def _install_node(package: str, version: str, source: str) -> ClientProgram:
    if shutil.which("node") is None:
        raise CannotRunError("node is not here")
    modules = CACHE / f"{package.strip('@').replace('/', '-')}-{version}"
    if not (modules / "node_modules" / package).exists():
        modules.mkdir(parents=True, exist_ok=True)
        options = ["--no-audit", "--no-fund", "--prefix", "."]
        run_tool("npm", ["install", *options, f"{package}@{version}"], modules)
    environment = {
        "NODE_PATH": str(modules / "node_modules"),
        "KAFKAJS_NO_PARTITIONER_WARNING": "1",
    }
    return ClientProgram(["node", str(FOLDER / "node" / source)], environment)


CLIENTS = {"franz-go": build_franz_go, "kafkajs": install_kafkajs}
ACL_CLIENTS = {
    "kafkajs": install_kafkajs_acls,
    "@platformatic/kafka": install_platformatic_acls,
}
