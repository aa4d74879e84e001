"""Measure the fixture `mock_kafka`: the first of a test session, and each further one.

python -m benchmarks.fixture

A session is a new process that does what the fixture does: with pytest imported, it imports
`mock_kafka`, starts a cluster for the first test, and resets it for each further one. Times are
those that the test waits. A missed bar is reported and is not a failure.
"""

import json
import os
import statistics
import subprocess
import sys
import time

from benchmarks.report import Bar, case_line, print_line
from benchmarks.server_process import PROJECT, without_bytecode_ban

SESSIONS = 5
TESTS = 50
SETTLE_S = 1.0
BARS = (Bar("first_s", "at most", 0.25), Bar("further_ms", "at most", 1.0))


def session() -> dict[str, float]:
    """Return the time of the first fixture, and the median time of the further ones."""
    import pytest  # noqa: F401, PLC0415 - and the modules that it needs

    begun_s = time.perf_counter()
    from mock_kafka.cluster import MockKafka  # noqa: PLC0415 - its import is measured
    from mock_kafka.pool import ClusterPool  # noqa: PLC0415

    pool = ClusterPool(lambda **settings: MockKafka(**settings).start())
    kafka = pool.lend(brokers=1, config={})
    first_s = time.perf_counter() - begun_s
    further_ms: list[float] = []
    for _ in range(TESTS):
        kafka.create_topic("orders")
        pool.take_back(kafka)
        time.sleep(SETTLE_S if not further_ms else 0)
        begun_s = time.perf_counter()
        kafka = pool.lend(brokers=1, config={})
        further_ms.append((time.perf_counter() - begun_s) * 1000)
    kafka.stop()
    return {"first_s": first_s, "further_ms": statistics.median(further_ms)}


def main() -> int:
    if sys.argv[1:] == ["session"]:
        print(json.dumps(session()))
        return 0
    rounds = [
        json.loads(
            subprocess.run(
                [sys.executable, "-m", "benchmarks.fixture", "session"],
                cwd=PROJECT,
                env=without_bytecode_ban(os.environ),
                capture_output=True,
                check=True,
            ).stdout
        )
        for _ in range(SESSIONS)
    ]
    figures = {name: statistics.median(found[name] for found in rounds) for name in rounds[0]}
    print_line(case_line("fixture", "1 broker", figures, BARS, "scripts/bench fixture"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
