"""Measure the cost of KIP-936's quota of producer ids and the error rates of its filter.

python -m benchmarks.producer_id_quota                        everything, one JSON line per case
python -m benchmarks.producer_id_quota --case memory          one case, in this process

Cases:
  sequential, strided, scattered
                    false positives: new ids that the filter takes for known ones, with four full
                    layers of consecutive ids, of ids a thousand apart, and of random ids
  false-negatives   known ids that the filter takes for new ones, in ten million look-ups of
                    frequent and rare ids
  memory            bytes of a user's filter, compared with the theoretical size and a set of ids
  users             resident memory of 10,000 users with one id in each of four layers, by quota
  check             time of one look-up, compared with a list of filters, a byte per position, sets
  admitted          accepted ids of two million, with a quota of 100, in four hours
  produce           server time and rate of one-record requests, with and without a quota
  flood             two million ids of one user with a quota of 100: producer state, memory, and
                    the latency of another user

A table of bars and verdicts on stderr comes last. The status is 1 when a bar was missed, except for
bars of time, which a busy machine alone may miss.
"""

import argparse
import gc
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import count
from math import log2
from typing import Any

from benchmarks import load_process, producer_id_flood, raw_load
from benchmarks.filter_rivals import BitOfEachLayer, ListOfFilters, Rival, SetOfIds
from benchmarks.quiet import wait_until_quiet
from benchmarks.report import Bar, Figures, case_line, print_line, progress, verdict_table
from benchmarks.server_process import PROJECT, serve, two_cpus
from quotas.entities import make_entity
from quotas.layered_bloom_filter import LayeredBloomFilter
from quotas.limits import Limits
from quotas.producer_ids import ProducerIdQuotaManager

MODULE = "benchmarks.producer_id_quota"
WINDOW_MS, LAYERS, RATE = 3_600_000, 4, 0.001
SPAN_MS = WINDOW_MS // LAYERS
LAST_LAYER_MS = (LAYERS - 1) * SPAN_MS
SEED = bytes(range(16))

Case = Callable[[], Iterator[tuple[str, Figures, Sequence[Bar]]]]
"""Yields a name, the figures, and the bars of some figures."""

IDS_PER_USER = (10, 100, 1000, 10_000, 100_000, 1_000_000)
CHECKS = 1_000_000
CHECKS_PER_FILTER = 50_000
OBJECTS_FILTERS, OBJECTS_IDS_MAX = 100, 1000
USERS = 10_000
SIGHTINGS = 10_000_000
POPULATION = 100_000
TIMED_IDS, TIMED_CHECKS, TIMED_ROUNDS = 10_000, 20_000, 5
QUOTA, UNKNOWN_IDS = 100, 2_000_000
PRODUCE_ROUNDS, PRODUCE_REQUESTS = 5, 100_000


def new_filter() -> LayeredBloomFilter:
    return LayeredBloomFilter(WINDOW_MS, LAYERS, RATE, SEED)


def new_manager(quota: int, rate: float) -> ProducerIdQuotaManager:
    limits = Limits()
    limits.set(make_entity([("user", None)]), Fraction(quota))
    return ProducerIdQuotaManager(
        limits,
        sample_count=11,
        window_seconds=WINDOW_MS // 1000,
        layer_count=LAYERS,
        false_positive_rate=rate,
        new_seed=lambda: SEED,
    )


def sight_or_add(layered: LayeredBloomFilter, producer_id: int, now_ms: int) -> bool:
    is_known = layered.contains_and_refresh(producer_id, now_ms)
    if not is_known:
        layered.add(producer_id, now_ms)
    return is_known


# False positives -------------------------------------------------------------------------------


def sequential(base: int) -> Iterator[int]:
    return count(base)


def strided(base: int) -> Iterator[int]:
    """Yield ids a thousand apart, like the blocks of ids that brokers get."""
    return count(base, 1000)


def scattered(base: int) -> Iterator[int]:
    drawn = random.Random(base)
    while True:
        yield drawn.getrandbits(62)


def false_positives(
    kind: Callable[[int], Iterator[int]],
) -> Iterator[tuple[str, Figures, Sequence[Bar]]]:
    bar = Bar("false_positive_rate", "at most", RATE + 3 * (RATE * (1 - RATE) / CHECKS) ** 0.5)
    for ids in IDS_PER_USER:
        hits, estimates = false_positives_of(kind, ids)
        figures = {
            bar.figure: hits / CHECKS,
            "estimated_rate": statistics.mean(estimates),
            "checks": CHECKS,
        }
        yield f"{ids} ids a layer", figures, [bar]


def false_positives_of(kind: Callable[[int], Iterator[int]], ids: int) -> tuple[int, list[float]]:
    """Return the false positives and the estimated rates; each layer has `ids` different ids."""
    hits = checks = 0
    estimates = []
    checks_per_filter = CHECKS if ids >= CHECKS_PER_FILTER else CHECKS_PER_FILTER
    for base in range(10**6, 10**18, 10**13):
        drawn = kind(base)
        layered = new_filter()
        for layer in range(LAYERS):
            for _ in range(ids):
                layered.add(next(drawn), layer * SPAN_MS)
        estimates.append(layered.state(LAST_LAYER_MS).false_positive_rate)
        # A look-up of an id from an older layer adds it to the newest one. False positives do so
        # too rarely to matter.
        hits += sum(
            layered.contains_and_refresh(next(drawn), LAST_LAYER_MS)
            for _ in range(checks_per_filter)
        )
        checks += checks_per_filter
        if checks >= CHECKS:
            break
    return hits, estimates


# False negatives -------------------------------------------------------------------------------


def false_negatives() -> Iterator[tuple[str, Figures, Sequence[Bar]]]:
    """Add and drop ids over eight windows."""
    drawn = random.Random(936)
    layered = new_filter()
    last_seen_ms: dict[int, int] = {}
    remembered_ms = WINDOW_MS - SPAN_MS
    checked = wrong = number = 0
    while checked < SIGHTINGS:
        number += 1
        now_ms = number * 8 * WINDOW_MS // SIGHTINGS
        # Ids come and go all the time; some occur every second, some every hour.
        producer_id = number // 100 + int(drawn.random() ** 4 * POPULATION)
        is_known = sight_or_add(layered, producer_id, now_ms)
        seen_ms = last_seen_ms.get(producer_id)
        if seen_ms is not None and now_ms - seen_ms <= remembered_ms:
            checked += 1
            wrong += not is_known
        last_seen_ms[producer_id] = now_ms
    bar = Bar("false_negatives", "at most", 0)
    yield "frequent and rare", {bar.figure: wrong, "checks": checked}, [bar]


# Memory ----------------------------------------------------------------------------------------


def memory() -> Iterator[tuple[str, Figures, Sequence[Bar]]]:
    for ids in IDS_PER_USER[:-1]:
        layered = new_filter()
        rivals = [make(ids, LAYERS, RATE) for make in (ListOfFilters, SetOfIds)]
        for layer in range(LAYERS):
            held = range(layer * ids, (layer + 1) * ids)
            for producer_id in held:
                layered.add(producer_id, layer * SPAN_MS)
            rivals[1].fill(layer, held)
        theory = LAYERS * ids * 1.4427 * log2(LAYERS / RATE) / 8
        list_bytes, set_bytes = (rival.bytes_held() for rival in rivals)
        figures = {
            "bytes_per_user": layered.bytes_held,
            "bytes_per_id_and_layer": round(layered.bytes_held / ids / LAYERS, 2),
            "to_theory": round(layered.bytes_held / theory, 3),
            "to_bound": round(layered.bytes_held / max(LAYERS * 2048, 2.5 * theory), 3),
            "to_list_of_filters": round(layered.bytes_held / list_bytes, 3),
            "to_sets": round(layered.bytes_held / set_bytes, 3),
        }
        if ids <= OBJECTS_IDS_MAX:
            figures["bytes_with_objects_per_user"] = bytes_with_objects(ids)
        yield f"{ids} ids a layer", figures, [Bar("to_bound", "at most", 1)]


def bytes_with_objects(ids: int) -> float:
    """Return the bytes of one filter with four full layers, with its Python objects."""
    gc.collect()
    tracemalloc.start()
    filters = [new_filter() for _ in range(OBJECTS_FILTERS)]
    for number, layered in enumerate(filters):
        for layer in range(LAYERS):
            for producer_id in range(number * ids, (number + 1) * ids):
                layered.add(producer_id, layer * SPAN_MS)
    held, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return round(held / OBJECTS_FILTERS)


def users() -> Iterator[tuple[str, Figures, Sequence[Bar]]]:
    """Measure the memory per user, with each quota in its own process."""
    for quota in (5, 100, 10**6, 10**9):
        process = multiprocessing.get_context("spawn").Pool(1)
        with process:
            growth_mb = process.apply(resident_growth_mb, (quota,))
        yield f"quota {quota:g}", {"growth_mb": growth_mb}, [Bar("growth_mb", "at most", 30)]


def resident_growth_mb(quota: int) -> float:
    manager = new_manager(quota, RATE)
    gc.collect()
    before = producer_id_flood.resident_bytes(os.getpid())
    for layer in range(LAYERS):
        for user in range(USERS):
            manager.track(f"user-{user}", 1_000_000 + user, layer * SPAN_MS)
    gc.collect()
    return round((producer_id_flood.resident_bytes(os.getpid()) - before) / 1e6, 1)


# Time ------------------------------------------------------------------------------------------


def check() -> Iterator[tuple[str, Figures, Sequence[Bar]]]:
    """Measure medians of single look-ups, without the cost of reading the clock."""
    layered = new_filter()
    rivals: dict[str, Rival] = {
        "list_of_filters": ListOfFilters(TIMED_IDS, LAYERS, RATE),
        "bit_of_each_layer": BitOfEachLayer(TIMED_IDS, LAYERS, RATE),
        "sets": SetOfIds(TIMED_IDS, LAYERS, RATE),
    }
    for layer in range(LAYERS):
        for producer_id in range(TIMED_IDS):
            sight_or_add(layered, producer_id, layer * SPAN_MS)
        for rival in rivals.values():
            rival.fill(layer, range(TIMED_IDS))
    ways: dict[str, Callable[[int], bool]] = {
        "ours": lambda producer_id: layered.contains_and_refresh(producer_id, LAST_LAYER_MS),
        **{name: rival.sight for name, rival in rivals.items()},
    }
    drawn = random.Random(1)
    ids = {
        "known": drawn.choices(range(TIMED_IDS), k=TIMED_CHECKS),
        "unknown": [drawn.getrandbits(62) for _ in range(TIMED_CHECKS)],
    }
    taken: dict[str, list[float]] = {}
    gc.disable()
    for _ in range(TIMED_ROUNDS):
        for kind, producer_ids in ids.items():
            for name, sight in ways.items():
                taken.setdefault(f"{name}_{kind}_us", []).append(median_us(sight, producer_ids))
    gc.enable()
    figures = {name: round(min(rounds), 2) for name, rounds in taken.items()}
    held = {"ours": layered.bytes_held} | {
        name: rival.bytes_held() for name, rival in rivals.items()
    }
    figures |= {f"{name}_bytes_per_user": size for name, size in held.items()}
    bars = [
        Bar("ours_known_us", "at most", 2.5, is_timing=True),
        Bar("ours_unknown_us", "at most", 4, is_timing=True),
    ]
    yield f"{TIMED_IDS} ids in {LAYERS} layers", figures, bars


def median_us(sight: Callable[[int], bool], producer_ids: Sequence[int]) -> float:
    clock = time.perf_counter_ns
    taken_ns, clock_ns = [], []
    for producer_id in producer_ids:
        started_ns = clock()
        sight(producer_id)
        taken_ns.append(clock() - started_ns)
        started_ns = clock()
        clock_ns.append(clock() - started_ns)
    return (statistics.median(taken_ns) - statistics.median(clock_ns)) / 1e3


# Over TCP --------------------------------------------------------------------------------------


def produce() -> Iterator[tuple[str, Figures, Sequence[Bar]]]:
    """Run one producer with 50 requests in flight, with a quota it obeys and without."""
    options = {"off": (), "on": ("client.quotas=user=<default>,producer_ids_rate=1000",)}
    rounds: dict[str, list[dict[str, float]]] = {"off": [], "on": []}
    server_cpu, client_cpu = two_cpus()
    for number in range(PRODUCE_ROUNDS):
        for name, option in options.items():
            progress(f"producer-id-quota produce: round {number + 1} of {PRODUCE_ROUNDS}, {name}")
            with serve("ours", options=option, cpu=server_cpu) as server:
                words = raw_load.command(
                    server,
                    connection_count=1,
                    in_flight=50,
                    requests=PRODUCE_REQUESTS,
                    is_idempotent=True,
                )
                rounds[name].append(load_process.run(words, client_cpu))
    figures: dict[str, float] = {}
    for figure in ("responses_per_s", "server_us_per_request"):
        for name, found in rounds.items():
            figures[f"{figure}_{name}"] = round(statistics.median(f[figure] for f in found), 2)
    # Compare consecutive rounds: other load on the machine affects both.
    pairs = list(zip(rounds["on"], rounds["off"], strict=True))
    bar = Bar("throughput_on_to_off", "at least", 0.9, is_timing=True)
    cost = Bar("server_time_off_to_on", "at least", 0.9, is_timing=True)
    figures[bar.figure] = round(
        statistics.median(on["responses_per_s"] / off["responses_per_s"] for on, off in pairs), 3
    )
    figures[cost.figure] = round(
        statistics.median(
            off["server_us_per_request"] / on["server_us_per_request"] for on, off in pairs
        ),
        3,
    )
    yield "1x50 idempotent", figures, [bar, cost]


def admitted() -> Iterator[tuple[str, Figures, Sequence[Bar]]]:
    """Count how many of two million new ids pass a quota of 100 in four hours."""
    for rate in (RATE, 1e-6):
        manager = new_manager(QUOTA, rate)
        passed = sum(
            manager.track("user", producer_id, producer_id * 4 * WINDOW_MS // UNKNOWN_IDS) == 0
            for producer_id in range(UNKNOWN_IDS)
        )
        bar = Bar("admitted", "at most", QUOTA * 5 + rate * UNKNOWN_IDS)
        yield f"false positive rate {rate:g}", {bar.figure: passed}, [bar]


def flood() -> Iterator[tuple[str, Figures, Sequence[Bar]]]:
    figures = producer_id_flood.measure(progress)
    bars = [
        Bar("producer_ids_kept", "at most", figures["producer_ids_promised"]),
        Bar("resident_growth_mb", "at most", 20),
        Bar("neighbour_p99_ratio", "at most", 1.3, is_timing=True),
    ]
    yield f"{producer_id_flood.IDS} ids", figures, bars


CASES: dict[str, Case] = {
    **{kind.__name__: partial(false_positives, kind) for kind in (sequential, strided, scattered)},
    "false-negatives": false_negatives,
    "memory": memory,
    "users": users,
    "admitted": admitted,
    "check": check,
    "produce": produce,
    "flood": flood,
}
TIMED = ("check", "produce", "flood")


def run_case(name: str) -> bool:
    """Print the lines of a case; return False when it missed a bar that is not one of time."""
    has_passed = True
    for shown, figures, bars in CASES[name]():
        has_passed &= all(bar.is_timing or bar.is_met(figures[bar.figure]) for bar in bars)
        command = f"python -m {MODULE} --case {name}"
        print_line(case_line("producer-id-quota", f"{name} {shown}", figures, bars, command))
    return has_passed


def run_process(name: str) -> tuple[list[dict[str, Any]], bool]:
    """Run a case in its own process; return its lines and whether it passed."""
    progress(f"producer-id-quota {name}")
    words = [sys.executable, "-m", MODULE, "--case", name]
    done = subprocess.run(words, cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="", flush=True)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--case", choices=tuple(CASES))
    arguments = parser.parse_args()
    if arguments.case is not None:
        return 0 if run_case(arguments.case) else 1
    counted = [name for name in CASES if name not in TIMED]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(run_process, counted))
    for name in TIMED:
        wait_until_quiet()
        results.append(run_process(name))
    progress("\n" + verdict_table([line for lines, _has_passed in results for line in lines]))
    return 0 if all(has_passed for _lines, has_passed in results) else 1


if __name__ == "__main__":
    sys.exit(main())
