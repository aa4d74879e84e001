"""Copy an environment with its Python into a folder that is the root of a container image.

`python -m scripts.image_root ENVIRONMENT ROOT` runs in the system of a build stage (Dockerfile).
The root has the interpreter, the standard library without what a cluster never imports, the shared
libraries that these need, and no shell, no package manager and no system besides.
"""

import compileall
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from py_compile import PycInvalidationMode

NOT_IMPORTED = (
    *("ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tkinter", "turtledemo", "venv"),
    *("config-*", "site-packages", "dist-packages", "turtle.py"),
    *("_tkinter*", "_test*", "_ctypes_test*", "_xx*", "xxlimited*", "_sqlite3*", "sqlite3"),
    *("_dbm*", "_gdbm*", "readline*", "_curses*", "curses"),
)
"""Parts of the standard library that neither a cluster nor the tools import."""
NOT_RUN = ("pip", "pip-*", "tests", "*.pyi", "*.pyx", "*.pxd", "*.c", "*.h", "*.hpp", "*.cpp")
"""Parts of packages that are no code of Python."""
NOT_RUN_AT = {"zstandard": ("_cffi*", "backend_cffi*")}
"""Backends for other interpreters, by the package that has another one for CPython."""
OF_THREADS = "libgcc_s.so.1"
"""The C library opens it when a thread ends."""
FILES = {
    "etc/passwd": "root:x:0:0:root:/:/none\nnobody:x:65534:65534:nobody:/:/none\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x")


def main(environment: Path, root: Path) -> None:
    """Write the root."""
    interpreter = Path(sys.executable).resolve()
    _copy_file(interpreter, root)
    for kind in "stdlib", "platstdlib":
        folder = Path(sysconfig.get_path(kind))
        ignore = shutil.ignore_patterns("__pycache__", *NOT_IMPORTED)
        shutil.copytree(folder, _within(root, folder), ignore=ignore, dirs_exist_ok=True)
    shutil.copytree(
        environment,
        _within(root, environment),
        symlinks=True,
        ignore=_not_run,
    )
    _link(environment, interpreter, root)
    programs = [path for path in root.rglob("*") if _is_program(path)]
    for library in _libraries(root, programs):
        _copy_file(library, root)
    packages = [path for path in programs if path.is_relative_to(_within(root, environment))]
    if packages and shutil.which("strip"):  # wheels have names for debuggers, 40 MB of them
        subprocess.run(["strip", "--strip-unneeded", *map(str, packages)], check=True)
    for name, text in FILES.items():
        file = root / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    (root / "tmp").mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    compileall.compile_dir(
        root,
        quiet=1,
        stripdir=str(root),
        prependdir="/",
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
    )


def _within(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _copy_file(path: Path, root: Path) -> None:
    place = _within(root, path)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, place)


def _not_run(folder: str, names: list[str]) -> set[str]:
    patterns = ("__pycache__", *NOT_RUN, *NOT_RUN_AT.get(Path(folder).name, ()))
    if Path(folder).name == "bin":
        patterns = ("pip*", "[Aa]ctivate*", "cffi-*", "idna")
    return shutil.ignore_patterns(*patterns)(folder, names)


def _link(environment: Path, interpreter: Path, root: Path) -> None:
    """Have the environment's links to Python lead to the interpreter that was copied."""
    folder = _within(root, environment) / "bin"
    for link in folder.glob("python*"):
        link.unlink()
    (folder / interpreter.name).symlink_to(interpreter)
    for name in {"python", "python3"} - {interpreter.name}:
        (folder / name).symlink_to(interpreter.name)


def _libraries(root: Path, programs: Iterable[Path]) -> list[Path]:
    """Return the shared libraries of programs and modules in the root, and the loader."""
    done = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=True)
    if "not found" in done.stdout:
        sys.exit(f"a shared library is missing:\n{done.stdout}")
    found = {Path(text) for text in _LIBRARY.findall(done.stdout)}
    found |= {path.with_name(OF_THREADS) for path in found if path.name.startswith("libc.so")}
    # Libraries that wheels bring are in the root already.
    return [path for path in found if path.exists() and not path.is_relative_to(root)]


def _is_program(path: Path) -> bool:
    if not path.is_file() or path.is_symlink():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
