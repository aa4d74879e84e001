"""Progress reports of the workers to the driver."""

import json
import socket
import threading
from typing import Any

from loadgen.progress import Progress, ProgressListener, RateMeter


def report(worker: int, **fields: Any) -> bytes:
    return json.dumps({"worker": worker, **fields}).encode()


def test_the_last_report_of_a_worker_counts() -> None:
    progress = Progress()
    for datagram in (
        report(0, done=3, t_s=1.0, reasons=["x"]),
        report(1, done=5, t_s=0.5, reasons=["x", "y"]),
        report(0, done=4, t_s=2.0, reasons=["x"]),
    ):
        progress.take(datagram)
    assert (progress.total("done"), progress.t_s, progress.reasons) == (9, 2.0, ["x", "y"])


def test_invalid_datagrams_are_ignored() -> None:
    progress = Progress()
    for datagram in (b"", b"\xff", b"[]", b"{}", b'{"worker": "x"}', b"3"):
        progress.take(datagram)
    assert (progress.total("done"), progress.t_s, progress.reasons) == (0, 0, [])


def test_the_rate_covers_a_full_second() -> None:
    rate_meter = RateMeter()
    reports = [(-2.0, 100), (-1.5, 130), (-1.0, 150), (-0.9, 190), (0.5, 210), (0.6, 999)]
    assert [rate_meter.update(t_s, requests) for t_s, requests in reports] == [0, 0, 50, 50, 40, 40]


def test_workers_receive_stop_after_stop_workers() -> None:
    shown = threading.Event()
    with (
        ProgressListener(lambda _standing: shown.set()) as listener,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as worker,
    ):
        worker.settimeout(10)
        worker.connect(listener.address)
        worker.send(report(0, done=1))
        assert shown.wait(10)
        listener.stop_workers()
        worker.send(report(0, done=2))
        assert worker.recv(64) == b"stop"
    assert listener.progress.total("done") == 2
