"""The methods of a cluster for snapshots: its state as one document."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from mock_kafka.control import Control
from mock_kafka.temporary_folder import temporary_folder

__tracebackhide__ = True  # pytest shows the line of the caller

Snapshot = str | PathLike[str] | Mapping[str, Any]
"""The path of a JSON file with a snapshot, perhaps compressed by gzip, or the snapshot itself."""
_GZIP = b"\x1f\x8b"


class SnapshotMethods(ABC):
    """The part of `ClusterMethods` for snapshots."""

    @property
    @abstractmethod
    def control(self) -> Control:
        """The admin port of the running cluster."""

    def snapshot(self, *, records: bool = True, batches: bool = False) -> dict[str, Any]:
        """Return the state of the cluster as JSON values, for `load_snapshot`.

        It has topics with their records, producers and open transactions, groups with their members
        and offsets, what was configured at run time, quotas, fault rules, SCRAM credentials and
        access control lists. With `batches` all records are there as stored batches, in base64.

        Raises:
            ControlError: there are more than 8 MiB of records; use `records=False`.
        """
        query = {"records": records, "batches": batches}
        found: dict[str, Any] = self.control.ask("GET", "/v1/snapshot", query=query)
        return found

    def load_snapshot(
        self,
        snapshot: Snapshot,
        *,
        keep: bool = False,
        at_once: bool = False,
        cluster_id: bool = False,
    ) -> None:
        """Reset the cluster, and load a snapshot. With `keep` each later reset loads it again.

        With `at_once` it may have fault rules that act at once, such as one that stops a broker.
        With `cluster_id` the cluster has the id of the snapshot until the next reset.

        Raises:
            ControlError: the cluster refuses a part of it, and is empty then. Or a fault rule is
                invalid, or acts at once without `at_once`, and nothing has changed.
            OSError: the file can't be read.
            ValueError: the file is not JSON.
        """
        document = snapshot_document(snapshot)
        query = {"keep": keep, "at_once": at_once, "cluster_id": cluster_id}
        self.control.ask("PUT", "/v1/snapshot", document, query=query)


@contextmanager
def snapshot_file(snapshot: Snapshot) -> Iterator[Path]:
    """Provide a file with a snapshot during a block: the given path, or a temporary file."""
    if not isinstance(snapshot, Mapping):
        yield Path(snapshot)
        return
    with temporary_folder() as folder:
        path = Path(folder) / "snapshot.json"
        path.write_text(json.dumps(snapshot), encoding="utf-8")
        yield path


def snapshot_document(snapshot: Snapshot) -> Mapping[str, Any]:
    """Return the snapshot of a file, or the snapshot itself.

    Raises:
        OSError: the file can't be read.
        ValueError: the file is not a JSON object.
    """
    if isinstance(snapshot, Mapping):
        return snapshot
    try:
        data = Path(snapshot).read_bytes()
        document = json.loads(_decompressed(data) if data.startswith(_GZIP) else data)
    except ValueError as error:
        raise ValueError(f"{Path(snapshot)}: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ValueError(f"{Path(snapshot)}: a snapshot is an object")  # noqa: TRY004 - as above
    return document


def _decompressed(data: bytes) -> bytes:
    import gzip  # noqa: PLC0415 - few snapshots are compressed
    import zlib  # noqa: PLC0415

    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"gzip: {error}") from error
