"""One task of the Spark job: it takes the schedule and writes the results.

It does not use Spark: the barrier is an argument, so that tests run it without a JVM.
"""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from loadgen import clock
from loadgen.clients.connection_settings import connection_settings_of
from loadgen.clients.load_client import Run
from loadgen.clock_offset import measure_offset
from loadgen.host_info import memory_max_bytes
from loadgen.plan.run_spec import RunSpec
from loadgen.receipts import RECEIPTS
from loadgen.row_encoder import RowEncoder
from loadgen.rows import RESULTS, Rows
from loadgen.storage import Storage, StorageError
from loadgen.worker.engine import Engine
from loadgen.worker.schedule_feed import ScheduleFeed
from loadgen.worker.segments import SegmentWriter
from loadgen.worker_reports import (
    ENDED,
    GAVE_UP,
    RECORD,
    STARTED,
    WorkerReport,
    host_name,
    write_reports,
)

REPORT_US = 250_000
Gather = Callable[[str], list[str]]
"""A barrier: takes this worker's message and returns the messages of all workers."""


def work(
    spec: RunSpec,
    storage: Storage,
    worker: int,
    batches: Iterator[pa.RecordBatch],
    gather: Gather,
) -> list[WorkerReport]:
    """Send the events of this worker and write a row per request (`rows.SCHEMA`).

    `batches` are the schedule of the worker's clients, sorted by time.

    Returns:
        The reports of the worker, which are also written.

    Raises:
        StorageError: nothing can be written.
    """
    folder = spec.folder(RESULTS)
    storage.create(*folder)
    has_receipts = any(tenant.is_received for tenant in spec.plan.tenants)
    if has_receipts:
        storage.create(*spec.folder(RECEIPTS))
    started = WorkerReport(
        worker, STARTED, host_name(), os.getpid(), memory_max_bytes=memory_max_bytes()
    )
    write_reports(storage, spec.folder(RECORD), [started])
    feed = ScheduleFeed(batches)
    feed.fill()
    rows = Rows()
    run = Run(
        spec,
        rows,
        [connection_settings_of(spec.plan.target, tenant) for tenant in spec.plan.tenants],
        spec.topology,
        timestamp_ms=clock.epoch_us() // 1000,
    )
    owners = spec.tenant_of_clients()
    reporter = Reporter(run, worker)
    with contextlib.closing(reporter), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        ticks = _Ticks(run, reporter)
        engine = Engine(run, feed, range(worker, len(owners), spec.workers), ticks.report)
        runner.run(engine.prepare())
        offset = measure_offset(spec.clock_address) if spec.clock_address else None
        if offset is not None:
            started = replace(
                started, clock_offset_us=offset.offset_us, clock_error_us=offset.error_us
            )
        zero_us = common_zero_us(spec, gather, started.clock_offset_us or 0)
        encoder = RowEncoder(worker, zero_us, spec.plan.tenants, owners)
        receipts = (run.receipts, spec.folder(RECEIPTS)) if has_receipts else None
        writer = SegmentWriter(rows, encoder, storage, folder, worker, spec.segment_s, receipts)
        writer.start()
        ticks.writer = writer
        try:
            runner.run(engine.drive(zero_us))
        finally:
            cpu_us, wall_us = writer.cpu_us, writer.wall_us
            writer.close()
            feed.stop()
    if writer.error is not None:
        run.abort_run(writer.error)
    ended = replace(
        started,
        event=ENDED,
        t_us=clock.now_us() - zero_us,
        rows=len(rows),
        segments=writer.segments,
        cpu_us=cpu_us,
        wall_us=wall_us,
        memory_max_bytes=memory_max_bytes(),
    )
    reports = [replace(ended, event=GAVE_UP, reason=reason) for reason in run.counts.reasons]
    reports.append(ended)
    with contextlib.suppress(StorageError):  # the disk is full; Spark gets the reports too
        write_reports(storage, spec.folder(RECORD), reports)
    return reports


class _Ticks:
    """What happens several times a second during a run."""

    def __init__(self, run: Run, reporter: "Reporter") -> None:
        self.writer: SegmentWriter | None = None
        self._run, self._reporter = run, reporter

    def report(self) -> bool:
        """Send the progress, write rows that are due; return whether to stop."""
        must_stop = self._reporter.report()
        if self.writer is not None:
            self.writer.tick()
            must_stop = must_stop or self.writer.is_stopping
            if self.writer.error is not None:
                self._run.abort_run(self.writer.error)
        return must_stop


def common_zero_us(spec: RunSpec, gather: Gather, offset_us: int = 0) -> int:
    """Return time zero, the same moment for all workers, on this worker's clock.

    `offset_us` is how far the clock of this host is ahead of the driver's.
    Tasks leave Spark's barrier up to a second apart, so time zero is later than that.
    """
    ready = max(int(message) for message in gather(str(clock.epoch_us() - offset_us)))
    ahead_us = round((spec.lead_s + spec.plan.warm_up_s) * 1e6)
    return clock.now_us() + (ready + ahead_us - (clock.epoch_us() - offset_us))


class Reporter:
    """Sends progress reports to the driver as datagrams, which may get lost."""

    def __init__(self, run: Run, worker: int) -> None:
        self._run = run
        self._worker = worker
        self._reported_us = 0
        self._socket: socket.socket | None = None
        if run.spec.progress_address is not None:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.setblocking(False)
            self._socket.connect(run.spec.progress_address)

    def report(self) -> bool:
        """Send a report if one is due; return whether the driver replied `stop`."""
        now_us = clock.now_us()
        sock, run = self._socket, self._run
        if sock is None or (now_us - self._reported_us < REPORT_US and not run.is_over):
            return False
        self._reported_us = now_us
        counts = run.counts
        report = {
            "worker": self._worker,
            "t_s": (now_us - run.zero_us) / 1e6,
            "done": counts.events_done,
            "requests": counts.requests,
            "errors": counts.errors,
            "throttled": counts.throttled,
            "lateness_us": counts.lateness_us,
            "is_over": run.is_over,
            "reasons": counts.reasons,
        }
        counts.lateness_us = 0
        try:
            sock.send(json.dumps(report).encode())
            return sock.recv(64) == b"stop"
        except OSError:
            return False

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - not available for Windows
    except ImportError:
        return None
    return uvloop.new_event_loop
