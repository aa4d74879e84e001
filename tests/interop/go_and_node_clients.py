"""Build and run the programs of franz-go, sarama and kafkajs."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.maven import CACHE, CannotRunError

KAFKAJS_VERSION = "2.2.4"
FOLDER = Path(__file__).parent
_RUN_TIMEOUT_S = 60
_BUILD_TIMEOUT_S = 300  # the first time all of franz-go is compiled


def build_go(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command that runs franz-go's program."""
    return _build_go("go", folder)


def build_sarama(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command that runs sarama's program, which only produces."""
    return _build_go("sarama", folder)


def _build_go(source: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    program = folder / "clients"
    _install("go", ["build", "-o", str(program), "."], FOLDER / source)
    return [str(program)], {}


def install_node(_: Path) -> tuple[list[str], dict[str, str]]:
    """The command that runs kafkajs's program, and where that finds the library."""
    if shutil.which("node") is None:
        raise CannotRunError("node is not here")
    modules = CACHE / f"kafkajs-{KAFKAJS_VERSION}"
    if not (modules / "node_modules" / "kafkajs").exists():
        modules.mkdir(parents=True, exist_ok=True)
        wanted = f"kafkajs@{KAFKAJS_VERSION}"
        _install("npm", ["install", "--no-audit", "--no-fund", "--prefix", ".", wanted], modules)
    environment = {
        "NODE_PATH": str(modules / "node_modules"),
        "KAFKAJS_NO_PARTITIONER_WARNING": "1",
    }
    return ["node", str(FOLDER / "node" / "clients.js")], environment


def _install(program: str, arguments: list[str], folder: Path) -> None:
    if shutil.which(program) is None:
        raise CannotRunError(f"{program} is not here")
    try:
        subprocess.run(
            [program, *arguments],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            timeout=_BUILD_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRunError(f"{program} took too long") from error
    except subprocess.CalledProcessError as error:
        raise CannotRunError(f"{program} got no client: {error.stderr}") from error


CLIENTS = {"franz-go": build_go, "kafkajs": install_node}


def run_client(
    command: list[str], environment: dict[str, str], *arguments: object
) -> "subprocess.CompletedProcess[str]":
    """Run a scenario of a client's program to its end, whether it succeeds or not."""
    return subprocess.run(
        [*command, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=_RUN_TIMEOUT_S,
        check=False,
    )
