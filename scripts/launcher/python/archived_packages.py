"""Import the packages of the program from one file, for 2000 files take long to unpack (ADR 40).

The file `packages` in site-packages has compiled modules, and the data that packages read as
resources. What must be a file is one: extension modules, and metadata of distributions. To the
importing code a module is where it would be without the archive: `__file__` and `__path__` are
those of a folder of site-packages.
"""

import marshal
import os
import sys
from collections.abc import Iterator
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourcelessFileLoader,
)
from importlib.util import spec_from_file_location
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archived_resources import Reader  # type: ignore[import-not-found]

FOLDER = os.path.join(os.path.dirname(__file__), "site-packages")
_ARCHIVE = os.path.join(FOLDER, "packages")
_INIT = "/__init__.pyc"


def _index() -> tuple[dict[str, tuple[int, int]], int]:
    """Return the position and size of each file, by its path with slashes, and where they start."""
    with open(_ARCHIVE, "rb") as archive:
        size = int.from_bytes(archive.read(4), "big")
        return marshal.loads(archive.read(size)), 4 + size


INDEX, _START = _index()


def read(path: str) -> bytes:
    """Return a file of the archive.

    Raises:
        FileNotFoundError: it is not there.
    """
    if path not in INDEX:
        raise FileNotFoundError(path)
    position, size = INDEX[path]
    with open(_ARCHIVE, "rb") as archive:
        archive.seek(_START + position)
        return archive.read(size)


def names(folder: str) -> list[str]:
    """Return the names of what is in a folder of the archive, given with a slash at its end."""
    inside = (path[len(folder) :] for path in INDEX if path.startswith(folder))
    return sorted({path.partition("/")[0] for path in inside})


class Loader(SourcelessFileLoader):
    """Load a module of the archive."""

    def get_data(self, path: str) -> bytes:
        """Return a file, by the path that it would have in site-packages."""
        return read(_inside(path))

    def get_resource_reader(self, _module: str | None = None) -> "Reader":
        """Return what `importlib.resources` asks for the files of a package."""
        from archived_resources import Reader  # noqa: PLC0415 - few need it

        return Reader(_inside(os.path.dirname(self.path)))


class Finder:
    """Find the modules of one folder of site-packages."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._inside = f"{_inside(folder)}/".lstrip("/")
        self._extensions = FileFinder(folder, (ExtensionFileLoader, EXTENSION_SUFFIXES))

    def find_spec(self, name: str, target: Any = None) -> ModuleSpec | None:
        """Find a module: in the archive, or an extension module in the folder."""
        last = name.rpartition(".")[2]
        path = os.path.join(self._folder, last)
        if f"{self._inside}{last}{_INIT}" in INDEX:
            file = os.path.join(path, "__init__.pyc")
            search: list[str] | None = [path]
        elif f"{self._inside}{last}.pyc" in INDEX:
            file, search = f"{path}.pyc", None
        else:
            return self._extensions.find_spec(name, target)
        loader = Loader(name, file)
        return spec_from_file_location(name, file, loader=loader, submodule_search_locations=search)

    def invalidate_caches(self) -> None:
        """Look for new files in the folder."""
        self._extensions.invalidate_caches()

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """Yield the names of the modules in the archive, and whether they are packages."""
        for name in names(self._inside):
            module = name.removesuffix(".pyc")
            is_package = f"{self._inside}{name}{_INIT}" in INDEX
            if is_package or module not in {name, "__init__"}:
                yield prefix + module, is_package


def _inside(path: str) -> str:
    return path[len(FOLDER) + 1 :].replace(os.sep, "/")


def _finder(folder: str) -> Finder:
    if folder == FOLDER or folder.startswith(FOLDER + os.sep):
        return Finder(folder)
    raise ImportError(f"{folder} is not in the archive")


sys.path_hooks.insert(0, _finder)
for _known in [path for path in sys.path_importer_cache if path.startswith(FOLDER)]:
    del sys.path_importer_cache[_known]
