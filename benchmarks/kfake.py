"""Build and run kfake, franz-go's fake cluster, if Go is installed."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("kfake_server")
BUILD_SECONDS_MAX = 300
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "mock-kafka"


class NoKfakeError(Exception):
    """kfake cannot be built; the message has the reason."""


@cache
def executable() -> Path:
    """Return the path of the server, which takes `--brokers N`; the first call builds it.

    Raises:
        NoKfakeError: no Go toolchain, or it could not fetch or compile.
    """
    if shutil.which("go") is None:
        raise NoKfakeError("kfake needs a Go toolchain: go is not here")
    path = _CACHE / "kfake-server"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        built = subprocess.run(
            ["go", "build", "-o", str(path), "."],
            cwd=SOURCE,
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoKfakeError(f"go build took more than {BUILD_SECONDS_MAX} s") from error
    if built.returncode != 0:
        raise NoKfakeError(f"go build: {built.stderr.strip()[-500:]}")
    return path
