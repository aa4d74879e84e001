"""The build backend: setuptools, with one top-level package in the wheel.

In the repository `broker`, `client` and so on are packages at the top. In site-packages these names
would collide with a user's own modules and with other distributions. `build_wheel` therefore copies
the packages into a temporary folder, as `mock_kafka/_internal/broker` and so on, rewrites their
imports, and lets setuptools build there. It also copies what `protocol` uses of kafka-python, from
the version that `[build-system]` names, so that the wheel needs no kafka-python beside it (ADR 32).
An editable install and the source archive keep the layout of the repository.
"""

import contextlib
import gzip
import io
import os
import re
import shutil
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import build_editable

__all__ = ["build_editable", "build_sdist", "build_wheel"]

PUBLIC = "mock_kafka"
INTERNAL = "mock_kafka._internal"
VENDOR = f"{INTERNAL}._vendor"
CLIENT = "kafka-python"
VENDORED = ("codec.py", "errors.py", "protocol", "record", "structs.py", "util.py", "version.py")
"""What `protocol` imports of the package `kafka`, with what these modules import."""
NOT_VENDORED = ("__pycache__", "*.pyi", "frame.py", "generate_stubs.py", "old", "parser.py")
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


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Build the source archive and return its file name (PEP 517).

    With SOURCE_DATE_EPOCH (s) it depends on the contents of the files alone.
    """
    name: str = build_meta.build_sdist(sdist_directory, config_settings)
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        date_source_archive(Path(sdist_directory, name), int(epoch))
    return name


def date_source_archive(path: Path, time_s: int) -> None:
    """Write a source archive again: members in the order of their names, of one time and owner."""
    stream = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=stream, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            entry = tarfile.TarInfo(member.name)
            entry.type, entry.size, entry.mtime = member.type, member.size, time_s
            entry.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(entry, old.extractfile(member) if member.isfile() else None)
    path.write_bytes(gzip.compress(stream.getvalue(), mtime=time_s))


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
    ours = dict.fromkeys(packages - {PUBLIC}, INTERNAL)
    vendored = {"kafka": VENDOR}
    vendor_kafka_python(source / "pyproject.toml", target.joinpath(*VENDOR.split(".")))
    # The scenarios and the atlas run the kafka-python of the user, as any other client.
    for folder, places in (
        (target, ours),
        (internal / "protocol", vendored),
        (target.joinpath(*VENDOR.split(".")), vendored),
    ):
        for path in folder.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            path.write_text(with_internal_imports(text, places), encoding="utf-8")


def vendor_kafka_python(pyproject: Path, target: Path) -> None:
    """Copy what the wheel needs of kafka-python to `target`, as the package `kafka`.

    Raises:
        SystemExit: the version that `[build-system]` requires is not installed here.
    """
    wanted = pinned_client(pyproject)
    try:
        distribution = metadata.distribution(CLIENT)
    except metadata.PackageNotFoundError:
        found = "it is not installed"
    else:
        found = f"{distribution.version} is installed"
    if found != f"{wanted} is installed":
        raise SystemExit(f"mock-kafka is built with {CLIENT}=={wanted}, and here {found}")
    kafka = target / "kafka"
    kafka.mkdir(parents=True)
    for name in VENDORED:
        path = Path(str(distribution.locate_file(f"kafka/{name}")))
        if path.is_dir():
            shutil.copytree(path, kafka / name, ignore=shutil.ignore_patterns(*NOT_VENDORED))
        else:
            shutil.copy(path, kafka)
    [licence] = [file for file in distribution.files or () if file.name == "LICENSE"]
    shutil.copy(str(licence.locate()), kafka / "LICENSE.txt")
    (target / "__init__.py").write_text(
        '"""Parts of other distributions, with their licences."""\n'
    )
    (kafka / "__init__.py").write_text(
        f'"""A part of {CLIENT} {wanted}; mock-kafka changed its imports, and this file."""\n'
    )


def pinned_client(pyproject: Path) -> str:
    """Return the version of kafka-python that `[build-system]` requires."""
    settings = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    requirements = [each.split("==") for each in settings["build-system"]["requires"]]
    version: str
    [version] = [parts[1] for parts in requirements if parts[0] == CLIENT]
    return version


def top_level_packages(pyproject: Path) -> set[str]:
    """Return the packages that `[tool.setuptools.packages.find]` includes."""
    settings = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["packages"]["find"]["include"]
    return {pattern.removesuffix("*") for pattern in patterns}


def with_internal_imports(text: str, places: Mapping[str, str]) -> str:
    """Return source code with imports of packages changed to their place in the wheel.

    Every line keeps its number. Imports in doctests count; `import a.b` without `as` would bind
    another name and is left alone, and tests/test_packaging.py finds it.

    Args:
        text: the source code.
        places: the package in the wheel that each of the packages is in.
    """
    names = f"(?P<name>{'|'.join(sorted(places))})"
    start = r"^(?P<start>[ \t]*(?:>>> |\.\.\. )?)"
    for pattern, replacement in (
        (rf"{start}from {names}(?P<rest>(?:\.\w+)* import)\b", "{start}from {place}.{name}{rest}"),
        (rf"{start}import {names}(?P<rest>(?:\.\w+)* as)\b", "{start}import {place}.{name}{rest}"),
        (rf"{start}import {names}(?=[ \t]*(?:#.*)?$)", "{start}from {place} import {name}"),
    ):

        def moved(match: re.Match[str], form: str = replacement) -> str:
            return form.format(place=places[match["name"]], **match.groupdict())

        text = re.sub(pattern, moved, text, flags=re.MULTILINE)
    return text
