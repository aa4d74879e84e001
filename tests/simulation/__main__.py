"""Run many worlds (`python -m tests.simulation --seeds 1000`), or one with a full trace."""

import argparse
import gc
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from traceback import format_exception

import structlog

from tests.simulation.group_world import GroupWorld
from tests.simulation.mutants.all_mutants import MUTANTS
from tests.simulation.mutants.mutant import Mutant
from tests.simulation.streams_world import StreamsWorld
from tests.simulation.transactional_world import TransactionWorld
from tests.simulation.world import Report, World

CHUNK = 10


def quieten() -> None:
    """Turn off the broker's log."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def prepare() -> None:
    """Prepare a process that runs worlds: nothing of what they share is looked at as garbage."""
    quieten()
    gc.collect()
    gc.freeze()


def run(world_class: type[World], seed: int) -> Report:
    """Run one world; an exception in it is a violation too."""
    try:
        return world_class(seed).run()
    except Exception as error:  # noqa: BLE001 - the other worlds still run
        return Report(seed, [f"raised: {''.join(format_exception(error)[-4:])}"], "", 0, 0)


def main() -> int:
    """Run the command; return 1 if there is a violation."""
    parser = argparse.ArgumentParser(prog="scripts/simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="number of worlds")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--seed", type=int, help="replay this seed with a full trace")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument(
        "--transactions", action="store_true", help="worlds with transactional producers"
    )
    parser.add_argument(
        "--groups", action="store_true", help="worlds with consumer groups and share groups"
    )
    parser.add_argument("--streams", action="store_true", help="worlds with streams groups")
    parser.add_argument(
        "--mutants", action="store_true", help="inject each bug, and count the worlds that find it"
    )
    parser.add_argument(
        "--aiokafka",
        choices=("producer", "group", "transaction"),
        help="worlds with aiokafka's clients, on an asyncio loop in virtual time",
    )
    parser.add_argument(
        "--released",
        action="append",
        default=[],
        metavar="FINDING",
        help="leave an error of docs/findings.md in aiokafka; may be given often, or `all`",
    )
    options = parser.parse_args()
    prepare()
    seeds = range(options.first, options.first + options.seeds)
    if options.aiokafka:
        from tests.simulation import aiokafka_runs  # noqa: PLC0415 - needs aiokafka

        run_client = partial(aiokafka_runs.run, options.aiokafka, tuple(options.released))
        if options.seed is not None:
            return aiokafka_runs.replay(options.aiokafka, options.seed, options.released)
        return run_many(run_client, seeds, options.jobs)
    if options.mutants:
        return find_mutants(options.jobs)
    world_class: type[World] = World
    if options.transactions:
        world_class = TransactionWorld
    elif options.groups:
        world_class = GroupWorld
    elif options.streams:
        world_class = StreamsWorld
    if options.seed is not None:
        return replay(world_class, options.seed)
    return run_many(partial(run, world_class), seeds, options.jobs)


def replay(world_class: type[World], seed: int) -> int:
    """Run one world and print its trace; return 1 if there is a violation."""
    report = world_class(seed, print).run()
    print(f"seed {report.seed}: {len(report.violations)} violations, digest {report.digest}")
    print(*(f"  {name}: {count}" for name, count in report.counts.items()), sep="\n")
    return bool(report.violations)


def find_mutants(jobs: int) -> int:
    """Print how many worlds find each mutant; return 1 if one is not found."""
    is_any_missed = False
    with ProcessPoolExecutor(jobs, initializer=prepare) as pool:
        counts = pool.map(Mutant.worlds_needed, MUTANTS)
        for mutant, count in zip(MUTANTS, counts, strict=True):
            is_any_missed |= count is None
            print(f"{count or 'not found':>9}  {mutant.checker}: {mutant.name}", flush=True)
    return is_any_missed


def run_many(run_world: Callable[[int], Report], seeds: range, jobs: int) -> int:
    """Run worlds and print the progress; return 1 if there is a violation."""
    started_s = time.perf_counter()
    failed: list[int] = []
    totals: Counter[str] = Counter()
    with ProcessPoolExecutor(jobs, initializer=prepare) as pool:
        reports = (
            map(run_world, seeds) if jobs == 1 else pool.map(run_world, seeds, chunksize=CHUNK)
        )
        for number, report in enumerate(reports, 1):
            totals.update(report.counts, virtual_ms=report.virtual_ms)
            if report.violations:
                failed.append(report.seed)
                print(f"seed {report.seed}:", *report.violations, sep="\n  ", flush=True)
            if number % max(1, len(seeds) // 20) == 0:
                rate = number / (time.perf_counter() - started_s)
                print(f"{number} worlds, {rate:.1f} seeds/s, {len(failed)} failed", flush=True)
    took_s = time.perf_counter() - started_s
    virtual_s = totals.pop("virtual_ms", 0) // 1000
    counts = ", ".join(f"{count} {name}" for name, count in totals.items())
    print(f"{len(seeds)} worlds in {took_s:.1f} s: {len(seeds) / took_s:.1f} seeds/s")
    print(f"{virtual_s} s of virtual time; {counts}")
    print(f"{len(failed)} with violations" + (f": {failed[:20]}" if failed else ""))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
