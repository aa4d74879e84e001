"""The live view of a run: its page and what reads its rows, neither of which may fail the load."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape

from loadgen.fault_rows import FaultRow
from loadgen.live.batch_sums import BatchSums
from loadgen.live.figures import Batch, LiveFigures
from loadgen.live.page_server import PageServer
from loadgen.live.segment_reader import SegmentReader
from loadgen.rows import RESULTS
from loadgen.run_record import RunRecord
from loadgen.spark_session import first_line
from loadgen.storage import Storage
from loadgen.worker_reports import RECORD, ended_us, read_reports


class LiveRun:
    """Shows a run while it runs and until its outputs are written.

    Attributes:
        url: the address of the page; None if it cannot be served.
    """

    def __init__(self, host: str, port: int, console: Console) -> None:
        """Serve the page; a port that is taken costs one line on the console."""
        self.url: str | None = None
        self._console = console
        self._content: dict[str, Any] = {
            "run": {"run": "", "plan": "", "target": "", "duration_s": 0.0},
            "state": "running",
            "note": None,
            "figures": None,
        }
        self._faults: list[dict[str, Any]] = []
        """Apart, since another thread than that of the figures sets them."""
        self._reading: tuple[LiveFigures, SegmentReader, RunRecord, Storage] | None = None
        self._server: PageServer | None = None
        try:
            self._server = PageServer(host, port, lambda: self.content)
        except OSError as error:
            reason = error.strerror or error
            console.print(escape(f"no live page at {host}:{port}: {reason}; the load continues"))
            return
        self.url = self._server.url

    @property
    def content(self) -> dict[str, Any]:
        """What the page shows now, as JSON values."""
        return {**self._content, "faults": self._faults}

    def show_faults(self, rows: Sequence[FaultRow]) -> None:
        """Show the faults that have begun, as bands until they end."""
        self._faults = [
            {
                "name": row.name,
                "begun_s": row.begun_us / 1e6,
                "ended_s": None if row.ended_us is None else row.ended_us / 1e6,
                "lasts": row.has_end,
            }
            for row in rows
            if row.begun_us is not None
        ]

    @contextmanager
    def reading(self, record: RunRecord, storage: Storage) -> Iterator[None]:
        """Read the rows of the run in a thread during the block."""
        if self._server is None:
            yield
            return
        self._content = {
            **self._content,
            "run": {
                "run": record.run_id,
                "plan": record.plan.name,
                "target": record.servers,
                "duration_s": record.plan.duration_s,
            },
        }
        figures = LiveFigures(record.plan, record.target)

        def take(batch: Batch) -> None:
            figures.take(batch)
            self._content = {**self._content, "figures": figures.as_dict()}

        sums = BatchSums(record.plan, record.target)
        folder = record.folder(RESULTS)
        with SegmentReader(storage, folder, record.workers, sums, take, self._fail) as reader:
            self._console.print(f"live page: {self.url}", soft_wrap=True)
            self._reading = figures, reader, record, storage
            yield

    def read_all(self) -> None:
        """Read the rows that are left, after the workers have ended."""
        if self._reading is None:
            return
        figures, reader, record, storage = self._reading
        reader.finish()
        try:
            figures.end(ended_us(read_reports(storage, record.folder(RECORD))))
            self._content = {**self._content, "figures": figures.as_dict(), "state": "read"}
        except Exception as error:  # noqa: BLE001 - nothing here may fail the load
            self._fail(first_line(error))

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Show the verdicts of the summary, which are final."""
        figures = self._content["figures"]
        if figures is not None:
            verdicts = [{**verdict, "is_provisional": False} for verdict in summary["verdicts"]]
            self._content = {
                **self._content,
                "state": "over",
                "figures": {**figures, "verdicts": verdicts},
            }

    def close(self) -> None:
        """Stop serving the page."""
        if self._server is not None:
            self._server.close()

    def _fail(self, reason: str) -> None:
        self._content = {**self._content, "note": f"the figures stopped: {reason}"}
        self._console.print(
            escape(f"the live page stopped: {reason}; the load continues"), soft_wrap=True
        )
