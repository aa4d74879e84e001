"""One task of the Spark job: a generator that takes the schedule and yields the results.

It does not use Spark: the barrier is an argument, so that tests run it without a JVM.
"""

import asyncio
import contextlib
import json
import socket
from array import array
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from loadgen import clock
from loadgen.clients.connection_settings import connection_settings_of
from loadgen.clients.load_client import Run
from loadgen.plan.run_spec import RunSpec
from loadgen.rows import Rows
from loadgen.worker.engine import Engine

REPORT_US = 250_000
Gather = Callable[[str], list[str]]
"""A barrier: takes this worker's message and returns the messages of all workers."""


def work(
    spec: RunSpec, worker: int, batches: Iterator[pa.RecordBatch], gather: Gather
) -> Iterator[pa.RecordBatch]:
    """Send the events of this worker and yield a row per request (`rows.SCHEMA`)."""
    tables = list(batches)
    columns = [
        np.concatenate([batch.column(name).to_numpy() for batch in tables] or [np.empty(0, int)])
        for name in ("event_id", "t_us", "client", "salt")
    ]
    rows = Rows()
    run = Run(
        spec,
        rows,
        [connection_settings_of(spec.plan.target, tenant) for tenant in spec.plan.tenants],
        spec.topology,
        timestamp_ms=clock.epoch_us() // 1000,
    )
    reporter = Reporter(run, worker)
    # As compact as the columns, and faster to index.
    event_ids, times_us, owners, salts = (
        array("q", column.astype(np.int64).tobytes()) for column in columns
    )
    engine = Engine(run, event_ids, times_us, owners, salts, reporter.report)
    began_cpu_us, began_us = 0, 0
    with contextlib.closing(reporter), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(engine.prepare())
        zero_us = common_zero_us(spec, gather)
        began_cpu_us, began_us = clock.cpu_us(), clock.now_us()
        runner.run(engine.drive(zero_us))
    constants = {
        "worker": worker,
        "worker_cpu_us": clock.cpu_us() - began_cpu_us,
        "worker_wall_us": clock.now_us() - began_us,
    }
    yield from rows.batches(zero_us, constants, spec.plan.tenants, spec.tenant_of_clients())


def common_zero_us(spec: RunSpec, gather: Gather) -> int:
    """Return time zero, the same moment for all workers, on this worker's clock.

    Tasks leave a barrier up to a second apart, so time zero is later than that.
    """
    ready = max(int(message) for message in gather(str(clock.epoch_us())))
    ahead_us = round((spec.lead_s + spec.plan.warm_up_s) * 1e6)
    return clock.now_us() + (ready + ahead_us - clock.epoch_us())


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
