"""Tools that build programs in other languages, and the cache folder of what is built once."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from scenarios import maven
from scenarios.maven import CannotRunError

_BUILD_TIMEOUT_S = 300  # the first time all of a library is compiled


def run_tool(
    program: str, arguments: Sequence[str], folder: Path, variables: Mapping[str, str] | None = None
) -> None:
    """Run a compiler or package manager in a folder, perhaps with more environment variables.

    Raises:
        CannotRunError: the program is not here, fails, or takes too long.
    """
    if shutil.which(program) is None:
        raise CannotRunError(f"{program} is not here")
    try:
        subprocess.run(  # noqa: S603 - arguments of ours, no shell
            [program, *arguments],
            cwd=folder,
            env={**os.environ, **(variables or {})},
            check=True,
            capture_output=True,
            text=True,
            timeout=_BUILD_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRunError(f"{program} took too long") from error
    except subprocess.CalledProcessError as error:
        raise CannotRunError(f"{program} failed: {error.stderr}") from error


def cached_folder(name: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder `name` of the cache, which `fill` fills first if it is missing.

    Args:
        name: what it is, and the version or `digest` of what it is made of.
        fill: gets an empty folder, which takes its place in the cache when it is complete.
    """
    target = maven.CACHE / name
    if target.exists():
        return target
    maven.CACHE.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=maven.CACHE) as folder:
        built = Path(folder) / "built"
        built.mkdir()
        fill(built)
        with suppress(OSError):  # another process was faster
            built.rename(target)
    return target


def digest(files: Sequence[Path]) -> str:
    """Return a short digest of the names and contents of files, for the name of what is built."""
    contents = sha256()
    for path in sorted(files):
        data = path.read_bytes()
        contents.update(f"{path.name} {len(data)}\n".encode() + data)
    return contents.hexdigest()[:16]
