"""Measure the rate of the load generator with two Spark tasks, and its lateness.

python -m benchmarks.spark_load [--seconds S] [--live]

It runs against canned responses (the generator's own limit, with the server on the same two cores)
and against our broker. Requests per second are those with a response in the measured seconds.
With --live each case is measured again while the driver reads the rows as for the live page.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.canned_responses import TOPIC
from benchmarks.quiet import wait_until_quiet
from benchmarks.report import print_line, progress
from benchmarks.server_process import PROJECT
from client.resources import Address
from loadgen.host_info import cpu_us_of
from loadgen.live.batch_sums import BatchSums
from loadgen.live.figures import Batch, LiveFigures
from loadgen.live.segment_reader import SegmentReader
from loadgen.plan.plan import Plan, Tenant, Topic
from loadgen.plan.run_spec import PreparedTarget, RunSpec, Topology
from loadgen.preparation import prepare
from loadgen.rows import RESULTS
from loadgen.spark_job import run_load
from loadgen.spark_session import jvm_pid, load_session
from loadgen.storage import Storage
from mock_kafka import MockKafka

WORKERS = 2
PARTITIONS = 12
QUOTA_WINDOWS = {
    "controller.quota.window.num": 11.0,
    "controller.quota.window.size.seconds": 1.0,
    "producer.id.quota.window.size.seconds": 3600.0,
}
WORKER_TIMES = ("worker_cpu_us", "worker_wall_us")


@dataclass(frozen=True, slots=True)
class Case:
    """A load; a rate of 0 is a closed loop."""

    name: str
    rate: int
    clients: int = 50
    window: int = 5
    responses_per_s_min: float = 0
    lateness_p99_ms_max: float | None = None


CANNED = (
    Case("flat out", 0, responses_per_s_min=100_000),
    Case("flat out, 50 in flight", 0, clients=20, window=50, responses_per_s_min=300_000),
    Case("open loop 30,000/s", 30_000, responses_per_s_min=29_700),
    Case("open loop 5,000/s", 5_000, responses_per_s_min=4_950, lateness_p99_ms_max=0.5),
)
OURS = (
    Case("flat out", 0),
    Case("flat out, 50 in flight", 0, clients=20, window=50),
    Case("open loop 5,000/s", 5_000),
)


def plan_of(case: Case, seconds: float) -> Plan:
    tenant = Tenant(
        "bench",
        "steady",
        "bench",
        clients=case.clients,
        arrival="poisson" if case.rate else "closed",
        rate=case.rate or 1,
        topic=TOPIC,
        window=case.window,
    )
    return Plan(
        name="bench",
        duration_s=seconds,
        tenants=(tenant,),
        topics=(Topic(TOPIC, PARTITIONS),),
        warm_up_s=1.0,
        abort_behind_s=60,
    )


@contextmanager
def live_figures(spec: RunSpec, storage: Storage) -> Iterator[dict[str, float]]:
    """Read the rows during the block as the live page does; yield what has been read."""
    target = PreparedTarget(spec.topology, QUOTA_WINDOWS)
    figures = LiveFigures(spec.plan, target)
    failures: list[str] = []
    used: dict[str, float] = {"live_batches": 0}

    def take(batch: Batch) -> None:
        figures.take(batch)
        figures.as_dict()
        used["live_batches"] += 1

    sums = BatchSums(spec.plan, target)
    folder = spec.folder(RESULTS)
    with SegmentReader(storage, folder, spec.workers, sums, take, failures.append) as reader:
        yield used
        used["live_behind_s"] = -time.monotonic()
        reader.finish()
        used["live_behind_s"] = round(used["live_behind_s"] + time.monotonic(), 2)
        used["live_requests"] = figures.as_dict()["totals"]["requests"]
    if failures:
        raise SystemExit(failures[0])


def measure(
    spark: SparkSession,
    target: str,
    case: Case,
    plan: Plan,
    topology: Topology,
    *,
    is_live: bool = False,
) -> None:
    wait_until_quiet()
    spec, used = RunSpec("bench", plan, topology, WORKERS), dict[str, float]()
    pids = {"jvm_cpu_s": jvm_pid(spark), "driver_cpu_s": os.getpid()}
    with tempfile.TemporaryDirectory() as folder:
        storage = Storage(folder)
        with live_figures(spec, storage) if is_live else nullcontext(used) as used:
            cpu_us = {name: cpu_us_of(pid) or 0 for name, pid in pids.items()}
            run_load(spark, spec, storage)
            for name, pid in pids.items():
                used[name] = round(((cpu_us_of(pid) or 0) - cpu_us[name]) / 1e6, 2)
        rows = pq.read_table(
            f"{folder}/results",
            columns=["worker", "intended_us", "sent_us", "response_us", *WORKER_TIMES],
        )
    response_us = rows["response_us"].drop_null().to_numpy()
    measured = (response_us >= 0) & (response_us < plan.duration_s * 1e6)
    responses_per_s = float(measured.sum()) / plan.duration_s
    mask = pc.greater_equal(rows["intended_us"], 0)
    due = rows.filter(mask)
    late_ms = pc.subtract(due["sent_us"], due["intended_us"]).drop_null().to_numpy() / 1000
    figures: dict[str, float] = {"responses_per_s": round(responses_per_s)}
    if case.rate:
        service_us = pc.subtract(due["response_us"], due["intended_us"]).drop_null().to_numpy()
        for share in (50, 99):
            figures[f"lateness_p{share}_ms"] = round(float(np.percentile(late_ms, share)), 3)
            figures[f"response_p{share}_ms"] = round(
                float(np.percentile(service_us, share)) / 1e3, 3
            )
    # Both times of a worker grow from segment to segment.
    of_workers = rows.group_by("worker").aggregate([(name, "max") for name in WORKER_TIMES])
    cpu_us, wall_us = (of_workers[f"{name}_max"] for name in WORKER_TIMES)
    figures["generator_cpus"] = round(pc.sum(cpu_us).as_py() / pc.max(wall_us).as_py(), 2)
    lateness = figures.get("lateness_p99_ms")
    is_met = responses_per_s >= case.responses_per_s_min and (
        case.lateness_p99_ms_max is None or (lateness or 0) <= case.lateness_p99_ms_max
    )
    print_line(
        {
            "measurement": "spark",
            "target": target,
            "case": case.name,
            "clients": case.clients,
            "window": case.window,
            "live": is_live,
            **figures,
            **used,
            "bars": {
                "responses_per_s": case.responses_per_s_min or None,
                "lateness_p99_ms": case.lateness_p99_ms_max,
            },
            "met": is_met,
            "command": "scripts/bench spark",
        }
    )


@contextmanager
def canned() -> Iterator[Address]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.canned_responses"],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        host, _, port = process.stdout.readline().strip().partition("=")[2].partition(":")
        yield Address(host, int(port))
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="duration of each load (default 5)"
    )
    parser.add_argument(
        "--live", action="store_true", help="measure each case with the live page too"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases with this name")
    options = parser.parse_args()
    seconds = options.seconds
    master = f"local[{WORKERS}]"
    with tempfile.TemporaryDirectory() as folder, load_session(master, Path(folder)) as spark:
        canned_cases = [case for case in CANNED if options.only in case.name]
        own_cases = [case for case in OURS if options.only in case.name]
        for case, is_live in product(canned_cases, (False, True) if options.live else (False,)):
            progress(f"spark: {case.name}, canned responses")
            with canned() as address:
                topology = Topology({1: address}, 1, {TOPIC: [1] * PARTITIONS})
                plan = plan_of(case, seconds)
                measure(spark, "canned responses", case, plan, topology, is_live=is_live)
        for case, is_live in product(own_cases, (False, True) if options.live else (False,)):
            progress(f"spark: {case.name}, mock-kafka")
            plan = plan_of(case, seconds)
            with MockKafka() as kafka:
                found = prepare(plan, "bench", kafka.bootstrap_servers, sets_quotas=False)
                measure(spark, "mock-kafka", case, plan, found.topology, is_live=is_live)


if __name__ == "__main__":
    main()
