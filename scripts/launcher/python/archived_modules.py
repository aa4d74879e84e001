"""Import the modules of the program from one file, for 2000 files take long to unpack (ADR 40).

The file `modules` beside this module has compiled modules, of the standard library and in
site-packages, and the data that packages read as resources. What must be a file is one: extension
modules, and metadata of distributions. To the importing code a module is where it would be without
the archive: `__file__` and `__path__` are those of a folder.
"""

import importlib.machinery  # `from` it would import modules that are in the archive
import marshal
import os
import sys

TYPE_CHECKING = False  # to import typing, collections or importlib.util would prolong the start
if TYPE_CHECKING:
    from collections.abc import Iterator

    from archived_resources import Reader  # type: ignore[import-not-found]

FOLDER = os.path.dirname(__file__)
_ARCHIVE = os.path.join(FOLDER, "modules")
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
    with open(_ARCHIVE, "rb", buffering=0) as archive:
        archive.seek(_START + position)
        return archive.read(size)


def names(folder: str) -> list[str]:
    """Return the names of what is in a folder of the archive, given with a slash at its end."""
    inside = (path[len(folder) :] for path in INDEX if path.startswith(folder))
    return sorted({path.partition("/")[0] for path in inside})


class Loader(importlib.machinery.SourcelessFileLoader):
    """Load a module of the archive."""

    def get_data(self, path: str) -> bytes:
        """Return a file, by the path that it would have in the folder."""
        return read(_inside(path))

    def get_resource_reader(self, _module: str | None = None) -> "Reader":
        """Return what `importlib.resources` asks for the files of a package."""
        from archived_resources import Reader  # noqa: PLC0415 - few need it

        return Reader(sys.modules[__name__], _inside(os.path.dirname(self.path)))


class Finder:
    """Find the modules of one folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._inside = f"{_inside(folder)}/".lstrip("/")
        machinery = importlib.machinery
        extensions = machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES
        self._extensions = machinery.FileFinder(folder, extensions)

    def find_spec(
        self, name: str, target: object = None
    ) -> "importlib.machinery.ModuleSpec | None":
        """Find a module: in the archive, or an extension module in the folder."""
        last = name.rpartition(".")[2]
        path = os.path.join(self._folder, last)
        is_package = f"{self._inside}{last}{_INIT}" in INDEX
        if is_package:
            file = os.path.join(path, "__init__.pyc")
        elif f"{self._inside}{last}.pyc" in INDEX:
            file = f"{path}.pyc"
        else:
            return self._extensions.find_spec(name, target)  # type: ignore[arg-type]
        loader = Loader(name, file)
        spec = importlib.machinery.ModuleSpec(name, loader, origin=file, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [path]
        return spec

    def invalidate_caches(self) -> None:
        """Look for new files in the folder."""
        self._extensions.invalidate_caches()

    def iter_modules(self, prefix: str = "") -> "Iterator[tuple[str, bool]]":
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
