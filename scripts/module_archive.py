"""Put the modules of mock-kafka as one file into an archive: a first run unpacks each file.

`launcher/python/archived_modules.py` reads them from there. Python's zipimport finds no extension
modules, and reads the whole directory for each resource (ADR 40).
"""

import marshal
import zipfile
from collections.abc import Iterable
from pathlib import Path

READERS = Path(__file__).resolve().parent / "launcher" / "python"
READER = "archived_modules"
_BEFORE = ("encodings/", "importlib/")
"""What Python imports before it can import the reader."""
_LANDMARK = "os.pyc"
"""By this file Python finds its standard library; it is in the archive, too."""
_SUFFIXES = {".css", ".html", ".js", ".json", ".properties", ".pyc", ".txt", ".yaml"}
"""Modules, and data that packages read by `importlib.resources`."""


def archive_modules(library: Path, first_modules: Path, programs: Iterable[Path]) -> None:
    """Move modules, and data of packages, into the file `modules`, and let `site` find them.

    Its first four bytes are the size of the index, big endian. Then follow the index, which is a
    dict of (position, size) by path, marshalled, and the files.

    Args:
        library: the folder that has the standard library, and in it `site-packages`.
        first_modules: the zip file that this Python imports from first; it gets what Python needs
            to read the archive.
        programs: modules that are also programs, and run without `site`.
    """
    index, contents, position = {}, [], 0
    with zipfile.ZipFile(first_modules, "w") as zipped:
        for path in sorted(path for path in library.rglob("*") if path.is_file()):
            name = path.relative_to(library).as_posix()
            if not _is_archived(name):
                continue
            content = path.read_bytes()
            if name.startswith(_BEFORE):
                zipped.writestr(zipfile.ZipInfo(name), content)  # ZipInfo: without a time
            index[name] = position, len(content)
            contents.append(content)
            position += len(content)
            if name != _LANDMARK:
                path.unlink()
    # Later versions of marshal write what depends on the counts of references.
    head = marshal.dumps(index, 2)
    archive = b"".join((len(head).to_bytes(4, "big"), head, *contents))
    (library / "modules").write_bytes(archive)
    (library / "site-packages" / f"{READER}.pth").write_text(f"import {READER}\n")
    for path in programs:
        path.write_text(f"import {READER}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")


def _is_archived(name: str) -> bool:
    """Return whether a file of the library is moved; others are read by their path."""
    folder, _, inside = name.partition("/")
    if folder == "site-packages":
        is_metadata = inside.partition("/")[0].endswith(".dist-info")
        return not is_metadata and Path(name).suffix in _SUFFIXES
    return name.endswith(".pyc") and name != f"{READER}.pyc"
