"""mock-kafka as one file, in separate folders, for the tests of the file and of its launcher."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

IS_WINDOWS = sys.platform == "win32"
PYTHON = "python.exe" if IS_WINDOWS else "bin/python3.14"
_FREE_PORT = ("--port", "0", "--until-stdin-closes")


def missing_tools(*names: str) -> str:
    """Return which of these programs are not on the PATH, or ""."""
    return ", ".join(name for name in names if shutil.which(name) is None)


class Executable:
    """The file, and the places that its processes know."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.home = folder / "home"
        self.cache = folder / "cache"
        self.cwd = folder / "cwd"
        for place in (self.home, self.cache, self.cwd):
            place.mkdir(exist_ok=True)
        self.cwd.chmod(0o555)
        # No PATH: nothing of this machine's Python is found.
        self.environment = {"HOME": str(self.home), "PATH": ""}
        if IS_WINDOWS:
            self.environment = {"SYSTEMROOT": os.environ["SYSTEMROOT"]}
        self.environment |= {"XDG_CACHE_HOME": str(self.cache), "LOCALAPPDATA": str(self.cache)}

    def run(
        self, *arguments: object, environment: Mapping[str, str] | None = None, status: int = 0
    ) -> str:
        """Return what a command prints."""
        done = subprocess.run(
            [self.program, *map(str, arguments)],
            env=self.environment if environment is None else environment,
            cwd=self.cwd,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    @contextmanager
    def serving(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
        """Run `serve`; yield the process, and what it prints first."""
        with subprocess.Popen(
            [self.program, "serve", *_FREE_PORT, *arguments],
            env=self.environment if environment is None else environment,
            cwd=self.cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline().rstrip().partition("=")]
            if "--admin-port" in arguments:
                lines.append(process.stdout.readline().rstrip().partition("="))
            try:
                yield process, {key: value for key, _, value in lines}
            finally:
                process.kill()

    def unpacked(self) -> list[Path]:
        return sorted((self.cache / "mock-kafka" / "unpacked").iterdir())
