"""Files of packages in the archive, as `importlib.resources` returns them."""

import io
from collections.abc import Iterator
from importlib.resources.abc import Traversable, TraversableResources
from typing import IO, Any, Protocol


class Archive(Protocol):
    """The module `archived_modules`, which imports this one when somebody asks for a resource."""

    INDEX: dict[str, tuple[int, int]]

    def names(self, folder: str) -> list[str]:
        """Return the names of what is in a folder, given with a slash at its end."""

    def read(self, path: str) -> bytes:
        """Return a file."""


class Reader(TraversableResources):
    """What a package has."""

    def __init__(self, archive: Any, folder: str) -> None:
        self._archive: Archive = archive
        self._folder = folder

    def files(self) -> Traversable:
        """Return the folder of the package."""
        return ArchivedPath(self._archive, self._folder)


class ArchivedPath(Traversable):
    """A file or a folder of the archive, or one that it does not have."""

    def __init__(self, archive: Archive, path: str) -> None:
        self._archive = archive
        self._path = path

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._path.rpartition("/")[2]

    def is_file(self) -> bool:
        """Return whether it is a file."""
        return self._path in self._archive.INDEX

    def is_dir(self) -> bool:
        """Return whether it is a folder."""
        return bool(self._archive.names(f"{self._path}/"))

    def iterdir(self) -> Iterator[Traversable]:
        """Yield what is in the folder, in the order of names."""
        return (self.joinpath(name) for name in self._archive.names(f"{self._path}/"))

    def joinpath(self, *parts: Any) -> Traversable:
        """Return a path below this one."""
        return ArchivedPath(self._archive, "/".join((self._path, *map(str, parts))))

    def read_bytes(self) -> bytes:
        """Return a file.

        Raises:
            FileNotFoundError: it is not there.
        """
        return self._archive.read(self._path)

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        """Return the text of a file; `Traversable` does not know `errors`."""
        return str(self.read_bytes(), encoding or "utf-8", errors or "strict")

    def open(self, mode: str = "r", *args: Any, **kwargs: Any) -> IO[Any]:
        """Return a stream of bytes or of text."""
        stream = io.BytesIO(self.read_bytes())
        return stream if "b" in mode else io.TextIOWrapper(stream, *args, **kwargs)
