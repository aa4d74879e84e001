"""Put the modules of mock-kafka as one file into two archives: a first run unpacks each file.

Python reads its standard library from an archive by itself (`python314.zip`). Packages are in the
file `packages` of site-packages, which `launcher/python/archived_packages.py` reads: zipimport
finds no extension modules, and reads the whole directory for each resource (ADR 40).
"""

import marshal
import zipfile
from collections.abc import Iterable
from pathlib import Path

READERS = Path(__file__).resolve().parent / "launcher" / "python"
READER = "archived_packages"
_LANDMARK = "os.pyc"
"""By this file Python finds its standard library; it is in the archive, too."""
_SUFFIXES = {".css", ".html", ".js", ".json", ".properties", ".pyc", ".txt", ".yaml"}
"""Modules, and data that packages read by `importlib.resources`."""


def archive_standard_library(library: Path, archive: Path) -> None:
    """Move the compiled modules of the standard library into an archive, without compression.

    Args:
        library: the folder that has the standard library, and in it site-packages.
        archive: the path from which this Python imports at its start.
    """
    with zipfile.ZipFile(archive, "w") as modules:
        for path in _files(library):
            name = path.relative_to(library).as_posix()
            if name.startswith(("site-packages/", READER)) or path.suffix != ".pyc":
                continue
            # ZipInfo: without the time of the file. Not compressed, for the whole content is.
            modules.writestr(zipfile.ZipInfo(name), path.read_bytes())
            if name != _LANDMARK:
                path.unlink()


def archive_packages(site_packages: Path, programs: Iterable[Path]) -> None:
    """Move the modules and data of packages into the file `packages`, and let `site` find them.

    Its first four bytes are the size of the index, big endian. Then follow the index, which is a
    dict of (position, size) by path, marshalled, and the files.

    Args:
        site_packages: the folder with the packages.
        programs: modules that are also programs, which find packages without `site`.
    """
    index, contents, position = {}, [], 0
    for path in _files(site_packages):
        name = path.relative_to(site_packages).as_posix()
        if path.suffix not in _SUFFIXES or name.partition("/")[0].endswith(".dist-info"):
            continue
        content = path.read_bytes()
        index[name] = position, len(content)
        contents.append(content)
        position += len(content)
        path.unlink()
    # Later versions of marshal write what depends on the counts of references.
    head = marshal.dumps(index, 2)
    archive = b"".join((len(head).to_bytes(4, "big"), head, *contents))
    (site_packages / "packages").write_bytes(archive)
    (site_packages / f"{READER}.pth").write_text(f"import {READER}\n")
    for path in programs:
        path.write_text(f"import {READER}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
