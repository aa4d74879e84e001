"""Build the npm package of clients/node, and make projects that use it."""

import hashlib
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from scenarios.maven import CACHE, CannotRunError
from tests.clients.mock_kafka_program import with_mock_kafka

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "clients" / "node"
_INSTALL_TIMEOUT_S = 300
_RUN_TIMEOUT_S = 120


@dataclass(frozen=True)
class NodePackage:
    """The package as a tarball, and the folder of the modules that build and test it."""

    tarball: Path
    modules: Path

    def provide(self, project: Path) -> None:
        """Install the package and all modules into the folder of a project, without a registry."""
        target = project / "node_modules"
        target.mkdir(parents=True)
        for module in self.modules.iterdir():
            (target / module.name).symlink_to(module)
        with tarfile.open(self.tarball) as archive:
            archive.extractall(target, filter="data")
        (target / "package").rename(target / "mock-kafka")


def build_node_package(folder: Path) -> NodePackage:
    """Build the package in a folder.

    Raises:
        CannotRunError: there is no Node, or no registry.
    """
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise CannotRunError(f"{program} is not here")
    modules = _installed_modules()
    copy = folder / "clients" / "node"
    ignored = shutil.ignore_patterns("node_modules", "dist", "*.tgz")
    shutil.copytree(SOURCE, copy, ignore=ignored)
    shutil.copy(ROOT / "clients" / "openapi.json", folder / "clients")
    shutil.copy(ROOT / "LICENSE", folder)
    (copy / "node_modules").symlink_to(modules)
    run_in(copy, "npm", "pack", "--pack-destination", str(folder)).check_returncode()
    [tarball] = folder.glob("mock-kafka-*.tgz")
    return NodePackage(tarball, modules)


def run_in(folder: Path, *command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a command with `mock-kafka` on the PATH; standard error is a part of its output."""
    return subprocess.run(
        command,
        cwd=folder,
        env=with_mock_kafka({"NO_COLOR": "1", **environment}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_RUN_TIMEOUT_S,
        check=False,
    )


def _installed_modules() -> Path:
    """Install the versions of package-lock.json, once for all test runs."""
    lock = (SOURCE / "package-lock.json").read_bytes()
    folder = CACHE / f"node-client-{hashlib.sha256(lock).hexdigest()[:16]}"
    is_complete = folder / "complete"
    if not is_complete.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCE / name, folder)
        install = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        try:
            subprocess.run(
                install,
                cwd=folder,
                check=True,
                capture_output=True,
                text=True,
                timeout=_INSTALL_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as error:
            raise CannotRunError("npm took too long") from error
        except subprocess.CalledProcessError as error:
            raise CannotRunError(f"npm got no modules: {error.stderr}") from error
        is_complete.touch()
    return folder / "node_modules"
