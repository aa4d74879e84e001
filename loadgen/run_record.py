"""What the driver knows of a run, in a file beside the results: enough to summarise it again."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from loadgen.analysis.committed_offsets import CommittedOffset
from loadgen.plan.plan import SHADOW_KEY, Plan
from loadgen.plan.redaction import without_passwords
from loadgen.plan.run_spec import PreparedTarget
from loadgen.rows import RESULTS
from loadgen.storage import Storage, StorageError

FILE = "_run.json"
STARTED_FORMAT = "%Y-%m-%d %H:%M:%S UTC"
UNFINISHED = "the driver ended before the run was complete"


@dataclass(slots=True)
class RunRecord:
    """The input of a summary, besides the rows; passwords are not written."""

    run_id: str
    plan: Plan
    target: PreparedTarget
    servers: str
    master: str
    started: str
    """As `YYYY-MM-DD HH:MM:SS UTC`."""
    workers: int
    reasons: list[str] = field(default_factory=lambda: [UNFINISHED])
    """Why the run is incomplete."""
    has_read_back: bool = False
    """Whether the topics were read back."""
    shadow_report: list[dict[str, Any]] = field(default_factory=list)
    offsets: list[CommittedOffset] = field(default_factory=list)
    host: dict[str, Any] = field(default_factory=dict)
    """The CPU shares of broker and JVM."""

    def folder(self, record: str) -> tuple[str, str]:
        """Return the folder of a record in the storage of the run."""
        return record, f"run={self.run_id}"

    def write(self, storage: Storage) -> None:
        """Write the record beside the results.

        Raises:
            StorageError: it cannot be written.
        """
        tenants = tuple(replace(tenant, password=None) for tenant in self.plan.tenants)
        config = {key: self.plan.target.config[key] for key in self._kept_config()}
        target = replace(self.plan.target, config=config, security={})
        text = without_passwords(self.plan.text)
        plan = replace(self.plan, tenants=tenants, target=target, text=text)
        values: dict[str, Any] = msgspec.to_builtins(self, str_keys=True)
        content = msgspec.json.encode({**values, "plan": plan})
        storage.write(content, *self.folder(RESULTS), FILE)

    def _kept_config(self) -> set[str]:
        return {SHADOW_KEY} & set(self.plan.target.config)


def read_record(storage: Storage, run_id: str) -> RunRecord:
    """Return the record of a run.

    Raises:
        StorageError: there is none, or it is not one of this version.
    """
    content = storage.read(RESULTS, f"run={run_id}", FILE)
    try:
        return msgspec.json.decode(content, type=RunRecord, strict=False)
    except msgspec.MsgspecError as error:
        raise StorageError(f"{storage.of(RESULTS, f'run={run_id}', FILE)}: {error}") from error


def run_ids(storage: Storage) -> list[str]:
    """Return the runs in a folder, in the order of their names.

    Raises:
        StorageError: the folder cannot be read.
    """
    return [name[4:] for name in storage.names(RESULTS) if name.startswith("run=")]
