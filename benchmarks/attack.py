"""Measure what amplifying frames take: the memory beyond their own bytes, the longest turn.

python -m benchmarks.attack [--all-versions] [--api KEY,...] [--kind KIND,...] [--elements N]

Each frame of the corpus (`tests/attack/amplifying_frames.py`) goes to a broker in a process of its
own, which has a topic of 10,000 partitions, many groups and quotas. With the frames of Fetch come
the requests of a session with 40,000 partitions (`tests/attack/long_sessions.py`) and those for a
partition with 243,000 batches (`tests/attack/many_batches.py`), with those of EndTxn the ends of
transactions with 10,000 partitions (`tests/attack/long_transactions.py`). Times are CPU times.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from benchmarks.report import print_line, progress
from broker.config.broker_config import BrokerConfig
from broker.routes import ROUTES
from protocol.api_keys import ApiKey
from tests.attack.amplifying_frames import AmplifyingFrame, amplifying_frames
from tests.attack.attacked_broker import AttackedBroker, Cost, peak_bytes
from tests.attack.long_sessions import LongSession
from tests.attack.long_transactions import LongTransactions
from tests.attack.many_batches import ManyBatches

MEMORY_BYTES_MAX = 64 * 1024 * 1024
TURN_MS_MAX = 50.0
WORST = 5
SESSION_PARTITIONS = 40_000
TRANSACTION_PARTITIONS = 10_000
MANY_BATCHES = 243_000
"""Of 69 bytes, they fill a response of `response.bytes.max`."""
SESSION_VERSIONS = 7, 18
"""The first that has sessions, which are read in the ordinary way, and the last."""

Row = dict[str, Any]


def in_child(work: Any) -> Any:
    """Return what `work` returns in a copy of this process, as JSON; None if it was killed."""
    with tempfile.TemporaryFile() as result:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                result.write(json.dumps(work()).encode())
                result.flush()
                status = 0
            finally:
                os._exit(status)
        os.waitpid(pid, 0)
        result.seek(0)
        data = result.read()
    return json.loads(data) if data else None


def measured(broker: AttackedBroker, frames: Iterator[AmplifyingFrame]) -> Iterator[Row]:
    """Yield a row for each frame; the frames are built in another process."""
    with tempfile.TemporaryDirectory() as folder:

        def build() -> list[tuple[str, str]]:
            found = []
            for number, frame in enumerate(frames):
                path = os.path.join(folder, str(number))
                with open(path, "wb") as file:
                    file.write(frame.data)
                found.append((frame.name, path))
            return found

        for name, path in in_child(build) or []:
            row = in_child(lambda path=path: handle(broker, path))
            yield {"frame": name, **(row or {"failed": True})}
            os.unlink(path)


def handle(broker: AttackedBroker, path: str) -> Row:
    """Handle the frame in a file."""
    with open(path, "rb") as file:
        data = file.read()
    gc.unfreeze()
    cost = _cost(partial(broker.handle, data))
    return {"frame_bytes": len(data), **cost, "bugs": broker.bugs}


def measured_sessions(broker: AttackedBroker) -> Iterator[Row]:
    """Yield a row for each request of long sessions."""
    for version in SESSION_VERSIONS:
        rows = in_child(partial(fetch_in_session, broker, version))
        yield from rows or [{"frame": f"FETCH v{version} in a session", "failed": True}]


def fetch_in_session(broker: AttackedBroker, version: int) -> list[Row]:
    """Send the requests of a long session."""
    rows = []
    gc.unfreeze()
    for name, send in LongSession(broker, SESSION_PARTITIONS, version).requests():
        frame = {"frame": f"FETCH v{version} in a session: {name}"}
        rows.append({**frame, **_cost(send), "bugs": broker.bugs})
    return rows


def fetch_many_batches(broker: AttackedBroker, version: int) -> list[Row]:
    """Read very many batches in all ways."""
    rows = []
    gc.unfreeze()
    for name, send in ManyBatches(broker, MANY_BATCHES, version).requests():
        frame = {"frame": f"FETCH v{version} of many batches: {name}"}
        rows.append({**frame, **_cost(send), "bugs": broker.bugs})
    return rows


def end_transactions(broker: AttackedBroker) -> list[Row]:
    """End long transactions in all ways."""
    rows = []
    gc.unfreeze()
    for name, send in LongTransactions(broker, TRANSACTION_PARTITIONS).requests():
        rows.append({"frame": f"a long transaction: {name}", **_cost(send), "bugs": broker.bugs})
    return rows


def other_rows(broker: AttackedBroker, api_key: ApiKey, kinds: set[str]) -> Iterator[Row]:
    """Yield the rows of small requests that have much to do."""
    if api_key == ApiKey.FETCH and (not kinds or "session" in kinds):
        yield from measured_sessions(broker)
    if api_key == ApiKey.FETCH and (not kinds or "batches" in kinds):
        for version in SESSION_VERSIONS:
            rows = in_child(partial(fetch_many_batches, broker, version))
            yield from rows or [{"frame": f"FETCH v{version} of many batches", "failed": True}]
    if api_key == ApiKey.END_TXN and (not kinds or "transaction" in kinds):
        rows = in_child(partial(end_transactions, broker))
        yield from rows or [{"frame": "a long transaction", "failed": True}]


def _cost(send: Callable[[], Cost]) -> Row:
    """Return the memory and the times of a request."""
    costs: list[Cost] = []
    peak = peak_bytes(lambda: costs.append(send()))
    return {"peak_bytes": peak, **asdict(costs[0])}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all-versions", action="store_true")
    parser.add_argument("--api", default="")
    parser.add_argument("--kind", default="", help="such as 'session' or 'batches'; all without it")
    default = BrokerConfig({})["request.elements.max"]
    parser.add_argument("--elements", type=int, default=default)
    parser.add_argument("--rows", help="append a line of JSON for each frame to this file")
    arguments = parser.parse_args()
    only = {int(key) for key in arguments.api.split(",") if key}
    kinds = {kind for kind in arguments.kind.split(",") if kind}
    gc.set_threshold(50_000, 20, 50)
    broker = AttackedBroker()
    gc.collect()
    gc.freeze()
    rows: list[Row] = []

    def add(row: Row) -> None:
        rows.append(row)
        if arguments.rows:
            with open(arguments.rows, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    for key, route in sorted(ROUTES.items()):
        if only and key not in only:
            continue
        versions = range(route.version_min, route.version_max + 1)
        for version in versions if arguments.all_versions else sorted({versions[0], versions[-1]}):
            frames = (
                frame
                for frame in amplifying_frames(ApiKey(key), version, arguments.elements)
                if not kinds or frame.kind in kinds
            )
            for row in measured(broker, frames):
                add(row)
        for row in other_rows(broker, ApiKey(key), kinds):
            add(row)
        progress(f"attack: {ApiKey(key).name}, {len(rows)} frames")
    failed = [row for row in rows if row.get("failed") or row.get("bugs")]
    found = [row for row in rows if not row.get("failed")]
    for figure in ("peak_bytes", "longest_turn_ms"):
        for row in sorted(found, key=lambda row: -row[figure])[:WORST]:
            print_line({"measurement": "attack", "worst_by": figure, **row})
    over = [
        row
        for row in found
        if row["peak_bytes"] > MEMORY_BYTES_MAX or row["longest_turn_ms"] > TURN_MS_MAX
    ]
    print_line(
        {
            "measurement": "attack",
            "frames": len(rows),
            "elements_max": arguments.elements,
            "failed": [row["frame"] for row in failed],
            "over_a_bar": len(over),
            "peak_bytes_max": max((row["peak_bytes"] for row in found), default=0),
            "longest_turn_ms": max((row["longest_turn_ms"] for row in found), default=0),
            "command": "scripts/bench attack",
        }
    )
    return 1 if failed or over else 0


if __name__ == "__main__":
    sys.exit(main())
