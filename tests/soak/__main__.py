"""The command of `scripts/soak`."""

import argparse
import sys
from dataclasses import fields

from tests.soak.comparison import MOCK_KAFKA, ComparedRun, compare
from tests.soak.run import ClientReport, SoakReport, soak


def main() -> int:
    """Run a soak and print its report; return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="duration (30)")
    parser.add_argument("--rate", type=float, default=30, help="records per second and client (30)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the disturbances (1)")
    parser.add_argument(
        "--compare",
        action="store_true",
        help="lose responses and move leaders on mock-kafka, then on Apache Kafka, and compare",
    )
    options = parser.parse_args()
    if options.compare:
        return show_comparison(compare(options.minutes, options.rate, options.seed, progress))
    report = soak(options.minutes, options.rate, options.seed, progress)
    show(report)
    return bool(report.violations)


def progress(line: str) -> None:
    """Print what happens."""
    print(line, flush=True)


def show(report: SoakReport) -> None:
    """Print a report."""
    print(
        "disturbances:", ", ".join(f"{count} {kind}" for kind, count in report.disturbances.items())
    )
    show_clients(report.clients)
    first, last = report.samples[0], report.samples[-1]
    print(
        f"memory {first.memory_bytes / 2**20:.1f} to {last.memory_bytes / 2**20:.1f} MiB,"
        f" {report.growth.mib_per_10_min:+.2f} MiB per 10 minutes after the first;"
        f" open files {first.open_files} to {last.open_files},"
        f" {report.growth.open_files_per_10_min:+.1f} per 10 minutes"
    )
    print(*(report.violations or ["0 violations"]), sep="\n")


def show_clients(clients: list[ClientReport]) -> None:
    """Print a line for each client."""
    for client in clients:
        values = (getattr(client, field.name) for field in fields(client))
        words = [len(value) if isinstance(value, list) else value for value in values]
        names = [field.name for field in fields(client)]
        print("  ".join(f"{name}={word}" for name, word in zip(names, words, strict=True)))


def show_comparison(runs: list[ComparedRun]) -> int:
    """Print what happened on each server; return 1 if mock-kafka broke a promise."""
    for run in runs:
        print(
            f"{run.server}: {run.lost_responses} responses lost, {run.moved_leaders} leaders moved"
        )
        show_clients(run.clients)
        print(*(run.violations or ["0 violations"]), sep="\n")
    return any(run.violations for run in runs if run.server == MOCK_KAFKA)


if __name__ == "__main__":
    sys.exit(main())
