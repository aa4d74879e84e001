"""The folder of `--out`: on this machine, or on any file system of Hadoop.

Spark reads and writes a folder by its URL; workers and driver write single files with `pyarrow.fs`.
A file appears complete or not at all: it has another name until it is written.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from loadgen.command_error import CommandError

SCHEMES = ("file", "s3a", "hdfs")
S3_KEYS = (
    "fs.s3a.access.key",
    "fs.s3a.secret.key",
    "fs.s3a.session.token",
    "fs.s3a.endpoint",
    "fs.s3a.endpoint.region",
    "fs.s3a.connection.ssl.enabled",
)
"""The settings of Hadoop that the workers' own client for S3 uses too."""
HDFS_KEYS = ("fs.defaultFS", "hadoop.security.authentication", "dfs.")
"""What the names of those begin with that its client for HDFS uses."""
_HDFS_LIBRARY = "a library that is not installed: pip install hdfs-native"


class StorageError(CommandError):
    """A folder or file cannot be used; the message is one line."""


def checked_url(text: str) -> str:
    """Return an absolute path or the URL of a folder, without a final slash.

    Raises:
        StorageError: the scheme is unknown, or needs a package that is not installed.
    """
    scheme, separator, rest = text.partition("://")
    if not separator:
        return str(Path(text).resolve())
    if scheme not in SCHEMES:
        raise StorageError(
            f"{text!r} has the scheme {scheme!r}; use a folder of this machine or one of"
            f" {', '.join(f'{known}://' for known in SCHEMES)}"
        )
    if scheme == "file":
        return str(Path("/" + rest.lstrip("/")))
    if not rest.strip("/"):
        raise StorageError(f"{text!r} names no folder")
    if scheme == "hdfs" and find_spec("hdfs_native") is None:
        raise StorageError(f"{text!r} needs {_HDFS_LIBRARY}")
    return text.rstrip("/")


@dataclass(frozen=True, slots=True)
class Storage:
    """A folder for runs; workers get a pickled copy."""

    url: str
    """An absolute path or a URL, as `checked_url` returns it."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings of `S3_KEYS` and `HDFS_KEYS` that have a value."""

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine, or one that is mounted on it."""
        return "://" not in self.url

    def of(self, *names: str) -> str:
        """Return the path or URL of a file or folder, for Spark."""
        return "/".join((self.url, *names))

    def create(self, *names: str) -> None:
        """Create a folder.

        Raises:
            StorageError: it cannot be created.
        """
        with self._one_line("create", *names):
            filesystem, path = self._found(*names)
            filesystem.create_dir(path, recursive=True)

    def write(self, data: bytes, *names: str) -> None:
        """Write a file, in a folder that is created for it.

        Raises:
            StorageError: it cannot be written.
        """
        self.create(*names[:-1])
        with self._one_line("write", *names), self.stream(*names) as stream:
            stream.write(data)

    def read(self, *names: str) -> bytes:
        """Return the content of a file.

        Raises:
            StorageError: it cannot be read.
        """
        with self._one_line("read", *names):
            filesystem, path = self._found(*names)
            with filesystem.open_input_stream(path) as stream:
                return bytes(stream.read())

    @contextmanager
    def stream(self, *names: str) -> Iterator[Any]:
        """Open a file for writing; it gets its name when the block has ended without an error.

        Raises:
            OSError: it cannot be written.
        """
        filesystem, path = self._found(*names)
        folder, _, name = path.rpartition("/")
        # An object of S3 appears when it is complete. Spark ignores names that begin with `_`.
        temporary = path if self.url.startswith("s3a://") else f"{folder}/_{name}.incomplete"
        try:
            with filesystem.open_output_stream(temporary) as stream:
                yield stream
            if temporary != path:
                filesystem.move(temporary, path)
        except BaseException:
            with suppress(OSError):
                filesystem.delete_file(temporary)
            raise

    def names(self, *folder: str) -> list[str]:
        """Return the names in a folder, sorted; none if there is no such folder.

        Raises:
            StorageError: it cannot be read.
        """
        from pyarrow.fs import FileSelector  # noqa: PLC0415 - slow to import

        with self._one_line("read", *folder):
            filesystem, path = self._found(*folder)
            found = filesystem.get_file_info(FileSelector(path, allow_not_found=True))
            return sorted(info.base_name for info in found)

    def existing(self, names: Sequence[str], *folder: str) -> list[str]:
        """Return those of some names that are in a folder, without a list of all of them.

        Raises:
            StorageError: it cannot be known.
        """
        with self._one_line("read", *folder):
            filesystem, path = self._found(*folder)
            found = filesystem.get_file_info([f"{path}/{name}" for name in names])
            pairs = zip(names, found, strict=True)
            return [name for name, info in pairs if info.type.name != "NotFound"]

    def batches(self, columns: Sequence[str], *folder: str) -> Iterator[Any]:
        """Yield the rows of a folder of Parquet files as Arrow record batches.

        Raises:
            StorageError: a file cannot be read, or lacks a column.
        """
        from pyarrow.dataset import dataset  # noqa: PLC0415 - slow to import

        with self._one_line("read", *folder):
            filesystem, path = self._found(*folder)
            rows = dataset(path, filesystem=filesystem, format="parquet")
            # Few batches are read ahead: memory does not depend on the number of rows.
            yield from rows.to_batches(list(columns), batch_readahead=2, fragment_readahead=1)

    def parquet_files(self) -> list[str]:
        """Return the names of the Parquet files in this folder.

        If this is the path of a file, that has the empty text as its name.

        Raises:
            StorageError: there is neither, or the folder cannot be read.
        """
        from pyarrow.fs import FileSelector, FileType  # noqa: PLC0415 - slow to import

        with self._one_line("read"):
            filesystem, path = self._found()
            path = path.rstrip("/")
            itself = filesystem.get_file_info(path)
            if itself.type == FileType.File:
                return [""]
            found = filesystem.get_file_info(FileSelector(path))
            # Spark ignores the same names.
            return [
                info.base_name
                for info in found
                if info.type == FileType.File and not info.base_name.startswith(("_", "."))
            ]

    def tables(self, names: Sequence[str], columns: Sequence[str], rows_max: int) -> Iterator[Any]:
        """Yield the rows of Parquet files in this folder as Arrow tables.

        The tables have about `rows_max` rows, whatever the files have, and texts without
        dictionaries.

        Raises:
            StorageError: a file cannot be read, or lacks a column.
        """
        import pyarrow as pa  # noqa: PLC0415 - slow to import
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415

        batches: list[Any] = []
        for name in names:
            with self._one_line("read", name):
                filesystem, path = self._found(*([name] if name else ()))
                with filesystem.open_input_file(path.rstrip("/")) as file:
                    # Other tasks need the other cores.
                    found = ParquetFile(file).iter_batches(
                        rows_max, columns=list(columns), use_threads=False
                    )
                    for batch in found:
                        batches.append(_plain(batch))
                        if sum(map(len, batches)) >= rows_max:
                            yield pa.Table.from_batches(batches)
                            batches = []
        if batches:
            yield pa.Table.from_batches(batches)

    def has(self, *names: str) -> bool:
        """Return whether there is such a file or folder.

        Raises:
            OSError: it cannot be known.
        """
        filesystem, path = self._found(*names)
        return bool(filesystem.get_file_info(path).type.name != "NotFound")

    def remove(self, *names: str) -> None:
        """Delete a file or folder if there is one."""
        filesystem, path = self._found(*names)
        with suppress(OSError):
            kind = filesystem.get_file_info(path).type.name
            if kind == "Directory":
                filesystem.delete_dir(path)
            elif kind == "File":
                filesystem.delete_file(path)

    def _found(self, *names: str) -> tuple[Any, str]:
        filesystem, prefix = _filesystem(self.url, tuple(sorted(self.settings.items())))
        return filesystem, "/".join((prefix, *names))

    @contextmanager
    def _one_line(self, action: str, *names: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            line = (str(reason).strip().splitlines() or [type(error).__name__])[0]
            raise StorageError(f"cannot {action} {self.of(*names)}: {line}") from error


def _plain(batch: Any) -> Any:
    """Return a batch with texts instead of dictionaries, which differ from file to file."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    fields = [
        field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
        for field in batch.schema
    ]
    return batch.cast(pa.schema(fields))


def settings_of(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of `S3_KEYS` and `HDFS_KEYS` from those of Spark.

    They may have the prefix `spark.hadoop.`, which comes first.
    """
    found = {}
    for key, value in configuration.items():
        name = key.removeprefix("spark.hadoop.")
        if value and _is_for_clients(name) and (name not in found or name != key):
            found[name] = value
    return found


def _is_for_clients(name: str) -> bool:
    return name in S3_KEYS or name.startswith(HDFS_KEYS)


@cache
def _filesystem(url: str, settings: tuple[tuple[str, str], ...]) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it.

    Raises:
        OSError: the settings are wrong.
        StorageError: a package is not installed.
    """
    from pyarrow import fs  # noqa: PLC0415 - slow to import

    scheme, _, rest = url.rpartition("://")
    if not scheme:
        return fs.LocalFileSystem(), url
    by_key = dict(settings)
    if scheme == "hdfs":
        try:
            from loadgen.hdfs import HadoopFiles  # noqa: PLC0415 - an optional dependency
        except ModuleNotFoundError as error:
            raise StorageError(f"{url} needs {_HDFS_LIBRARY}") from error
        host, slash, path = rest.partition("/")
        of_hdfs = {key: value for key, value in by_key.items() if key not in S3_KEYS}
        return fs.PyFileSystem(fs.FSSpecHandler(HadoopFiles(host, of_hdfs))), slash + path
    given = {
        "access_key": by_key.get("fs.s3a.access.key"),
        "secret_key": by_key.get("fs.s3a.secret.key"),
        "session_token": by_key.get("fs.s3a.session.token"),
        "endpoint_override": by_key.get("fs.s3a.endpoint"),
        "region": by_key.get("fs.s3a.endpoint.region"),
    }
    is_secure = by_key.get("fs.s3a.connection.ssl.enabled", "true") == "true"
    arguments = {name: value for name, value in given.items() if value}
    endpoint = by_key.get("fs.s3a.endpoint", "")
    if "://" not in endpoint:
        arguments["scheme"] = "https" if is_secure else "http"
    return fs.S3FileSystem(**arguments), rest
