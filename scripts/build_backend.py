"""The build backend: setuptools, with one top-level package in the wheel.

In the repository `broker`, `client` and so on are packages at the top. In site-packages these names
would collide with a user's own modules and with other distributions. `build_wheel` therefore copies
the packages into a temporary folder, as `mock_kafka/_internal/broker` and so on, rewrites their
imports, and lets setuptools build there. An editable install and the source archive keep the
layout of the repository.
"""

import contextlib
import re
import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import build_editable, build_sdist

__all__ = ["build_editable", "build_sdist", "build_wheel"]

PUBLIC = "mock_kafka"
INTERNAL = "mock_kafka._internal"
METADATA_FILES = ("LICENSE", "README.md", "pyproject.toml")


def build_wheel(
    wheel_directory: str,
    config_settings: Any = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel and return its file name (PEP 517)."""
    target = Path(wheel_directory).resolve()
    with tempfile.TemporaryDirectory() as folder:
        copy_packages(Path.cwd(), Path(folder))
        with contextlib.chdir(folder):
            name: str = build_meta.build_wheel(str(target), config_settings)
    return name


def copy_packages(source: Path, target: Path) -> None:
    """Copy the project to `target` with all packages inside `mock_kafka`."""
    for name in METADATA_FILES:
        shutil.copy(source / name, target / name)
    packages = top_level_packages(source / "pyproject.toml")
    internal = target.joinpath(*INTERNAL.split("."))
    for name in packages:
        folder = target / name if name == PUBLIC else internal / name
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source / name, folder, ignore=ignored, dirs_exist_ok=True)
    (internal / "__init__.py").write_text('"""Not for import by users: anything may change."""\n')
    for path in target.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(with_internal_imports(text, packages - {PUBLIC}), encoding="utf-8")


def top_level_packages(pyproject: Path) -> set[str]:
    """Return the packages that `[tool.setuptools.packages.find]` includes."""
    settings = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["packages"]["find"]["include"]
    return {pattern.removesuffix("*") for pattern in patterns}


def with_internal_imports(text: str, names: set[str]) -> str:
    """Return source code with imports of the packages `names` changed to their place in the wheel.

    Every line keeps its number. Imports in doctests count; `import a.b` without `as` would bind
    another name and is left alone, and tests/test_packaging.py finds it.
    """
    ours = f"(?:{'|'.join(sorted(names))})"
    start = r"^([ \t]*(?:>>> |\.\.\. )?)"
    for pattern, replacement in (
        (rf"{start}from ({ours}(?:\.\w+)*) import\b", rf"\1from {INTERNAL}.\2 import"),
        (rf"{start}import ({ours}(?:\.\w+)*) as\b", rf"\1import {INTERNAL}.\2 as"),
        (rf"{start}import ({ours})(?=[ \t]*(?:#.*)?$)", rf"\1from {INTERNAL} import \2"),
    ):
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text
