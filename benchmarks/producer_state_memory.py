"""Measure producer state: resident bytes per (partition, producer id), time per batch.

python -m benchmarks.producer_state_memory                 everything, one JSON line per case
python -m benchmarks.producer_state_memory --batches 1 --entries 1000000 [--timed]   one case

Each case runs in its own process with `PARTITIONS` partitions. Every producer has
`BATCHES_PER_PRODUCER` batches, at least Kafka's five. Resident bytes are the growth of the process
since before the first partition was created. Times are those of single check + apply pairs for
producers in random order, without the cost of reading the clock. A missed bar is reported and is
not a failure.

The fields of an entry are 38 bytes under KIP-758's rule; of a million entries each takes 49 bytes.
A bytearray per 12 rows adds 5 bytes, the spare capacity of bytearrays 3, and the rounding of the
memory allocator 3. Larger buckets would save some of the first and take longer to search. Without
spare capacity every new row would copy the bytearray. Below 100,000 entries the partitions
themselves count, and the free pages of the process.
"""

import argparse
import ctypes
import gc
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.quiet import wait_until_quiet
from benchmarks.report import Bar, print_line, progress
from benchmarks.server_process import PROJECT, status_bytes
from producer_state.counts import count
from producer_state.producer_state_manager import ProducerStateManager

MODULE = "benchmarks.producer_state_memory"
RULES = {1: "kip-758", 5: "kafka"}
ENTRIES = (10_000, 100_000, 1_000_000, 2_000_000)
TIMED_ENTRIES = 1_000_000
PARTITIONS = 100
BATCHES_PER_PRODUCER = 5
RECORDS_PER_BATCH = 3
WINDOW = 10_000_000
TIMED_PAIRS = 200_000
NOW_MS = 1_700_000_000_000

Figures = dict[str, float]

BYTES_BAR = Bar("resident_bytes_per_entry", "at most", 160)
TOTAL_BAR = Bar("resident_mb", "at most", 400)
TIME_BAR = Bar("check_and_apply_median_us", "at most", 2)
RATIO_BAR = Bar("kip_758_to_kafka_at_1000000", "at most", 0.5)
FLAT_BAR = Bar("kip_758_largest_to_smallest", "at most", 1.25)


def resident_bytes() -> int:
    """Return the resident memory; read smaps, because statm may be 64 pages behind."""
    return status_bytes(os.getpid(), "Rss", "smaps_rollup")


def new_partitions(batches: int) -> list[ProducerStateManager]:
    return [ProducerStateManager(batches=batches, window=WINDOW) for _ in range(PARTITIONS)]


def write_round(partitions: Sequence[ProducerStateManager], entries: int, number: int) -> None:
    """Write the batch number `number` of every producer."""
    sequence = number * RECORDS_PER_BATCH
    for producer_id in range(entries):
        partitions[producer_id % PARTITIONS].apply(
            producer_id,
            0,
            sequence,
            RECORDS_PER_BATCH - 1,
            producer_id * 1000 + sequence,
            NOW_MS + producer_id,
        )


def measure_memory(batches: int, entries: int) -> Figures:
    # What the first use creates belongs to the program, not to an entry.
    write_round(new_partitions(batches), PARTITIONS, 0)
    gc.collect()
    # Free memory that is still resident would be used first, and small cases would look cheaper.
    ctypes.CDLL(None).malloc_trim(0)
    before = resident_bytes()
    partitions = new_partitions(batches)
    for number in range(BATCHES_PER_PRODUCER):
        write_round(partitions, entries, number)
    gc.collect()
    grown = resident_bytes() - before
    counts = count(partitions)
    assert counts.producer_ids == entries
    return {
        "resident_bytes_per_entry": round(grown / entries, 1),
        "resident_mb": round(grown / 1e6, 1),
        "process_peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1),
        "held_bytes_per_entry": round(counts.bytes_held / entries, 1),
    }


def measure_time(batches: int, entries: int) -> Figures:
    partitions = new_partitions(batches)
    longest_ns = 0
    cpu_clock = time.thread_time_ns
    for producer_id in range(entries):
        producers = partitions[producer_id % PARTITIONS]
        started_ns = cpu_clock()
        producers.apply(producer_id, 0, 0, 0, producer_id, NOW_MS + producer_id)
        longest_ns = max(longest_ns, cpu_clock() - started_ns)
    figures = time_pairs(partitions, entries)
    figures["longest_apply_while_growing_cpu_us"] = longest_ns / 1e3
    figures |= time_expiry(partitions, entries)
    return {name: round(value, 3) for name, value in figures.items()}


def time_pairs(partitions: Sequence[ProducerStateManager], entries: int) -> Figures:
    """Measure check and apply of one batch, for random producers."""
    clock = time.perf_counter_ns
    drawn = random.Random(1).sample(range(entries), min(entries, TIMED_PAIRS))
    reading_ns = statistics.median([-(clock() - clock()) for _ in range(10_000)])
    taken: list[int] = []
    for producer_id in drawn:
        producers = partitions[producer_id % PARTITIONS]
        started_ns = clock()
        producers.check(producer_id, 0, 1, 0)
        producers.apply(producer_id, 0, 1, 0, producer_id, NOW_MS + producer_id)
        taken.append(clock() - started_ns)
    quantiles = statistics.quantiles(taken, n=100)
    return {
        "check_and_apply_median_us": (statistics.median(taken) - reading_ns) / 1e3,
        "check_and_apply_p99_us": (quantiles[98] - reading_ns) / 1e3,
        "clock_reading_us": reading_ns / 1e3,
    }


def time_expiry(partitions: Sequence[ProducerStateManager], entries: int) -> Figures:
    """Measure an expiry check when no producer is due, and when half of them are."""
    started_ns = time.perf_counter_ns()
    assert sum(sum(producers.expire_in_steps(NOW_MS, 1)) for producers in partitions) == 0
    idle_ns = time.perf_counter_ns() - started_ns
    longest_ns = forgotten = 0
    started_ns = time.perf_counter_ns()
    cpu_clock = time.thread_time_ns
    for producers in partitions:
        step_ns = cpu_clock()
        for removed in producers.expire_in_steps(NOW_MS + entries // 2, 1):
            forgotten += removed
            longest_ns = max(longest_ns, cpu_clock() - step_ns)
            step_ns = cpu_clock()
    assert forgotten == entries // 2
    return {
        "expire_none_due_ms": idle_ns / 1e6,
        "expire_half_due_ms": (time.perf_counter_ns() - started_ns) / 1e6,
        "expire_longest_step_cpu_us": longest_ns / 1e3,
    }


def command(batches: int, entries: int, *, is_timed: bool) -> str:
    arguments = f"--batches {batches} --entries {entries}{' --timed' if is_timed else ''}"
    return f"python -m {MODULE} {arguments}"


def run_apart(batches: int, entries: int, *, is_timed: bool) -> Figures:
    """Run a case in a new process; raise CalledProcessError if it fails."""
    shown = command(batches, entries, is_timed=is_timed)
    progress(shown)
    child = subprocess.run(
        [sys.executable, *shown.split()[1:]],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        check=True,
    )
    figures: Figures = json.loads(child.stdout)["figures"]
    return figures


def print_case(
    case: str, figures: Mapping[str, float], shown: str, bars: Sequence[Bar] = ()
) -> None:
    judged: list[dict[str, Any]] = [
        {
            "figure": bar.figure,
            "bar": f"{bar.sense} {bar.limit:g}",
            "value": figures[bar.figure],
            "met": bar.is_met(figures[bar.figure]),
        }
        for bar in bars
    ]
    print_line(
        {
            "measurement": "producer-state",
            "case": case,
            "figures": figures,
            "bars": judged,
            "met": all(bar["met"] for bar in judged) if judged else None,
            "command": shown,
        }
    )


def bars_of(batches: int, entries: int) -> list[Bar]:
    if batches != 1:
        return []
    return [BYTES_BAR, *([TOTAL_BAR] if entries == max(ENTRIES) else [])]


def run_all() -> None:
    per_entry: dict[tuple[int, int], float] = {}
    for batches, rules in RULES.items():
        for entries in ENTRIES:
            figures = run_apart(batches, entries, is_timed=False)
            per_entry[batches, entries] = figures[BYTES_BAR.figure]
            shown = command(batches, entries, is_timed=False)
            print_case(f"{rules} {entries}", figures, shown, bars_of(batches, entries))
    for batches, rules in RULES.items():
        is_quiet = wait_until_quiet()
        figures = run_apart(batches, TIMED_ENTRIES, is_timed=True)
        figures["machine_was_quiet"] = is_quiet
        shown = command(batches, TIMED_ENTRIES, is_timed=True)
        print_case(f"{rules} {TIMED_ENTRIES} timed", figures, shown, [TIME_BAR])
    of_kip_758 = [per_entry[1, entries] for entries in ENTRIES]
    compared = {
        RATIO_BAR.figure: round(per_entry[1, TIMED_ENTRIES] / per_entry[5, TIMED_ENTRIES], 3),
        FLAT_BAR.figure: round(max(of_kip_758) / min(of_kip_758), 3),
    }
    print_case("compared", compared, f"python -m {MODULE}", [RATIO_BAR, FLAT_BAR])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--batches", type=int, choices=tuple(RULES))
    parser.add_argument("--entries", type=int)
    parser.add_argument("--timed", action="store_true")
    arguments = parser.parse_args()
    batches, entries = arguments.batches, arguments.entries
    if (batches is None) != (entries is None) or (entries is not None and entries < 1):
        parser.error("--batches and --entries go together, and there is at least one entry")
    if batches is None:
        run_all()
        return 0
    measure = measure_time if arguments.timed else measure_memory
    shown = command(batches, entries, is_timed=arguments.timed)
    print_case(f"{RULES[batches]} {entries}", measure(batches, entries), shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
