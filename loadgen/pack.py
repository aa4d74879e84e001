"""`mock-kafka load pack`: the packages that the workers of a cluster need, in one archive.

Spark copies the archive to each executor and unpacks it there (`spark.archives`). The executors
need a Python of the same minor version, and nothing else installed.
"""

import argparse
import re
import sys
import tarfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from rich.console import Console

import loadgen
from loadgen.command_error import CommandError

FOLDER = "mock_kafka_environment"
"""The folder of an executor into which Spark unpacks the archive."""
DISTRIBUTION, EXTRA = "mock-kafka", "spark"
FOR_HDFS = "hdfs-native"
"""What `--out hdfs://` needs; the archive has it if it is installed here."""
PROVIDED_BY_SPARK = frozenset({"pyspark", "py4j"})
NOT_FOR_WORKERS = frozenset(
    {"aiohttp", "argcomplete", "cryptography", "google-re2", "jinja2", "matplotlib", "rich"}
)
"""Requirements of the broker, the tools and the report: with what they require, half of the size.

A distribution that a worker needs as well is in the archive through another requirement.
"""
PYTHON = "python{}.{}".format(*sys.version_info)
"""The command of the executors' Python."""
_SOURCE_PACKAGES = ("client", "loadgen", "protocol", "quotas")
"""What workers import from a source tree; an installed wheel has all packages in `mock_kafka`."""
_SOURCE_REQUIREMENT = "kafka-python"
"""What these packages import; an installed wheel has a copy of it."""
_COMPRESSION_LEVEL = 1
"""Most of the archive are compiled libraries: higher levels take minutes and save little."""
_REQUIREMENT = re.compile(r"([\w.-]+)\s*(?:\[([^\]]*)\])?")
_EXTRA_MARKER = re.compile(r"""extra\s*==\s*["']([\w.-]+)["']""")


class PackError(CommandError):
    """The archive cannot be made; the message is one line."""


def main(arguments: Sequence[str]) -> int:
    """Write the archive, and print how to use it.

    Raises:
        PackError: a package is not installed here, or the archive cannot be written.
    """
    parser = argparse.ArgumentParser(
        prog="mock-kafka load pack",
        description="Pack what the workers of a Spark cluster need into one archive.",
    )
    parser.add_argument("archive", metavar="FILE.tar.gz", type=archive_path)
    archive = parser.parse_args(arguments).archive
    write_archive(archive)
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    console.print(f"{archive}: {archive.stat().st_size / 1e6:.0f} MB, for {PYTHON}")
    console.print(f"mock-kafka load PLAN --master spark://HOST:PORT --environment {archive}")
    setting = f"spark.executorEnv.PYTHONPATH={FOLDER}"
    console.print(f"spark-submit --archives {archive}#{FOLDER} --conf {setting}")
    return 0


def archive_path(text: str) -> Path:
    """Return the path of an archive.

    Raises:
        argparse.ArgumentTypeError: its name is that of another kind of file.
    """
    if not text.endswith((".tar.gz", ".tgz")):
        raise argparse.ArgumentTypeError(f"{text!r} does not end in .tar.gz or .tgz")
    return Path(text)


def session_settings(archive: Path | None) -> dict[str, str]:
    """Return the settings with which executors use an archive; none without one.

    Raises:
        PackError: there is no such file.
    """
    if archive is None:
        return {}
    if not archive.is_file():
        raise PackError(f"there is no archive {archive}; `mock-kafka load pack` makes one")
    return {
        "spark.archives": f"{archive.resolve()}#{FOLDER}",
        "spark.executorEnv.PYTHONPATH": FOLDER,
    }


def write_archive(archive: Path, contents: Mapping[str, Path] | None = None) -> None:
    """Write the archive, or nothing.

    Args:
        archive: the file.
        contents: the files by their names in it, by default those of `files_for_workers`.

    Raises:
        PackError: a package is not installed here, or the archive cannot be written.
    """
    incomplete = archive.with_name(f"{archive.name}.incomplete")
    found = files_for_workers() if contents is None else contents
    try:
        with tarfile.open(incomplete, "w:gz", compresslevel=_COMPRESSION_LEVEL) as files:
            for name, file in sorted(found.items()):
                files.add(file, name, recursive=False)
        incomplete.replace(archive)
    except OSError as error:
        raise PackError(f"{archive} cannot be written: {error.strerror or error}") from error
    finally:
        incomplete.unlink(missing_ok=True)


def files_for_workers() -> Mapping[str, Path]:
    """Return the files of the archive by their names in it.

    Raises:
        PackError: mock-kafka or what it requires is not installed here.
    """
    files = files_of(DISTRIBUTION, EXTRA) | files_of(FOR_HDFS, is_needed=False)
    if not has_our_packages(files):
        files |= source_files(_SOURCE_PACKAGES) | files_of(_SOURCE_REQUIREMENT)
    return files


def has_our_packages(files: Mapping[str, Path]) -> bool:
    """Return whether mock-kafka itself is among the files: not if its installation is editable."""
    return any(name.endswith("loadgen/__init__.py") for name in files)


def files_of(
    name: str,
    *extras: str,
    is_needed: bool = True,
    left_out: Collection[str] = PROVIDED_BY_SPARK | NOT_FOR_WORKERS,
) -> dict[str, Path]:
    """Return the files of a distribution and of all that it requires, without some.

    Raises:
        PackError: one of them is needed and not installed here.
    """
    return {
        str(file): path
        for packed in _distributions(name, frozenset(extras), left_out, is_needed=is_needed)
        for file in packed.files or ()
        if _is_packed(file) and (path := Path(str(file.locate()))).is_file()
    }


def source_files(packages: Iterable[str]) -> dict[str, Path]:
    """Return our files of an editable installation, whose metadata do not name them."""
    root = Path(loadgen.__file__).parent.parent
    return {
        str(path.relative_to(root)): path
        for package in packages
        for path in (root / package).rglob("*")
        if path.is_file() and _is_packed(PurePosixPath(path.relative_to(root)))
    }


def _is_packed(name: PurePosixPath) -> bool:
    is_editable = name.suffix == ".pth" or name.name.startswith("__editable__")
    return not is_editable and not {"..", "__pycache__", "tests"} & set(name.parts)


def _distributions(
    name: str, extras: frozenset[str], left_out: Collection[str], *, is_needed: bool
) -> Iterator[Distribution]:
    """Yield a distribution and all that it requires, without some.

    Raises:
        PackError: one of them is needed and not installed here.
    """
    requirements = [(name, extras, is_needed)]
    visited: set[tuple[str, frozenset[str]]] = set()
    while requirements:
        name, extras, is_needed = requirements.pop()
        if (name, extras) in visited:
            continue
        visited.add((name, extras))
        try:
            installed = distribution(name)
        except PackageNotFoundError as error:
            if is_needed:
                raise PackError(f"{name} is not installed here") from error
            continue  # for HDFS, or its requirement has a condition, such as another system
        yield installed
        requirements += _requirements(installed, extras, left_out)


def _requirements(
    installed: Distribution, extras: frozenset[str], left_out: Collection[str]
) -> Iterator[tuple[str, frozenset[str], bool]]:
    """Yield name, extras and whether it is needed here of what a distribution requires."""
    for requirement in installed.requires or ():
        requirement_name, _, marker = requirement.partition(";")
        extra = _EXTRA_MARKER.search(marker)
        match = _REQUIREMENT.match(requirement_name)
        if match is None or (extra is not None and extra[1] not in extras):
            continue
        name = re.sub(r"[-_.]+", "-", match[1]).lower()
        if name in left_out:
            continue
        more = frozenset(part.strip() for part in (match[2] or "").split(",") if part.strip())
        yield name, more, not _EXTRA_MARKER.sub("", marker).strip(" ()")
