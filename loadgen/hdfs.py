"""HDFS for `pyarrow.fs`: a client in Rust, which needs neither a JVM nor libhdfs.

Importing this module needs the extra `hdfs`.
"""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hdfs_native.fsspec import HdfsFileSystem

_ONE_NAME_NODE = {"dfs.client.failover.max.attempts": "4"}
"""Where there is no other name node to turn to, the client gives up in seconds, like Spark's.

The default of 15 takes three minutes.
"""


class HadoopFiles(HdfsFileSystem):
    """The files of an HDFS cluster, for Arrow's `FSSpecHandler`; each error is an `OSError`.

    The settings of `core-site.xml` and `hdfs-site.xml` in $HADOOP_CONF_DIR apply.
    """

    def __init__(self, host: str, settings: Mapping[str, str]) -> None:
        """Connect to nothing yet.

        Args:
            host: "HOST:PORT" of the name node, a name service, or "" for that of `fs.defaultFS`.
            settings: settings of Hadoop, which come before those of the files.

        Raises:
            OSError: the settings do not say where the name node is.
        """
        options: dict[str, Any] = {**(_ONE_NAME_NODE if ":" in host else {}), **settings}
        with _os_errors():
            super().__init__(host, None, **options)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path or cls.root_marker  # paths only: `#` and `?` are letters of a name

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Return type and size of a file or folder."""
        with _os_errors():
            return super().info(path, **options)

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        """Return the entries of a folder."""
        with _os_errors():
            return super().ls(path, detail, **options)

    def mkdir(self, path: str, create_parents: bool = True, **options: Any) -> None:
        """Create a folder if there is none."""
        with _os_errors():
            super().mkdir(path, create_parents, **options)

    def mv(self, path1: str, path2: str, **options: Any) -> None:
        """Rename a file; like on other file systems it replaces another one."""
        with _os_errors():
            super().mv(path1, path2, **{**options, "overwrite": True})

    def rm(self, path: str, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Delete a file or folder."""
        with _os_errors():
            super().rm(path, recursive, maxdepth)

    def _open(self, path: str, mode: str = "rb", *arguments: Any, **options: Any) -> "ClientFile":
        with _os_errors():
            return ClientFile(super()._open(path, mode, *arguments, **options))


class ClientFile(io.RawIOBase):
    """An open file whose errors are `OSError`, and that is closed once."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        """Return whether it is open for reading."""
        return bool(self._file.readable())

    def writable(self) -> bool:
        """Return whether it is open for writing."""
        return bool(self._file.writable())

    def seekable(self) -> bool:
        """Return whether it has a position."""
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set and return the position."""
        self._file.seek(offset, whence)
        return self.tell()

    def tell(self) -> int:
        """Return the position."""
        return int(self._file.tell())

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`."""
        with _os_errors():
            return bytes(self._file.read(size))

    def write(self, data: Any) -> int:
        """Write all of the bytes."""
        with _os_errors():
            # The client copies everything but `bytes` element by element, so also Arrow's buffers.
            return int(self._file.write(bytes(data)))

    def close(self) -> None:
        """Complete the file."""
        if not self.closed:
            super().close()
            with _os_errors():
                self._file.close()


@contextmanager
def _os_errors() -> Iterator[None]:
    """Make one line of an error of the client, which has the stack trace of the server."""
    try:
        yield
    except OSError as error:
        [line, *_] = str(error).splitlines() or [type(error).__name__]
        raise type(error)(line) from error
    except RuntimeError as error:
        raise OSError(_message_of(str(error))) from error


def _message_of(printed: str) -> str:
    r"""Return the message in `RPCError("CLASS", "MESSAGE\n\tat ...")` or `NAME("MESSAGE")`."""
    first = printed.partition("\\n")[0].removesuffix('")')
    return first.replace('\\"', "'").rpartition('"')[2]
