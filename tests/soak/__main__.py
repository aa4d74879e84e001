"""The command of `scripts/soak`."""

import argparse
import sys
from dataclasses import fields

from tests.soak.run import SoakReport, soak


def main() -> int:
    """Run a soak and print its report; return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="duration (30)")
    parser.add_argument("--rate", type=float, default=30, help="records per second and client (30)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the disturbances (1)")
    options = parser.parse_args()
    report = soak(options.minutes, options.rate, options.seed, lambda line: print(line, flush=True))
    show(report)
    return bool(report.violations)


def show(report: SoakReport) -> None:
    """Print a report."""
    print(
        "disturbances:", ", ".join(f"{count} {kind}" for kind, count in report.disturbances.items())
    )
    for client in report.clients:
        values = (getattr(client, field.name) for field in fields(client))
        words = [len(value) if isinstance(value, list) else value for value in values]
        names = [field.name for field in fields(client)]
        print("  ".join(f"{name}={word}" for name, word in zip(names, words, strict=True)))
    first, last = report.samples[0], report.samples[-1]
    print(
        f"memory {first.memory_bytes / 2**20:.1f} to {last.memory_bytes / 2**20:.1f} MiB,"
        f" {report.growth.mib_per_10_min:+.2f} MiB per 10 minutes after the first;"
        f" open files {first.open_files} to {last.open_files},"
        f" {report.growth.open_files_per_10_min:+.1f} per 10 minutes"
    )
    print(*(report.violations or ["0 violations"]), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
