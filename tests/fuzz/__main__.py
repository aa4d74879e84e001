"""The command of `scripts/fuzz`."""

import argparse
import sys
import time

from protocol.api_keys import ApiKey
from tests.fuzz.corpus import CorpusFrame, read_corpus
from tests.fuzz.fuzzer import SIZE_BYTES, Finding, Fuzzer
from tests.simulation.__main__ import quieten

CHUNK_BYTES = 5_000_000


def main() -> int:
    """Run the fuzzer and print its report; return 1 if it found something."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("--bytes", type=float, default=1e7, help="bytes to send (1e7)")
    parser.add_argument("--seed", type=int, default=1, help="seed (1)")
    options = parser.parse_args()
    quieten()
    corpus = read_corpus()
    fuzzer = Fuzzer(corpus, options.seed)
    begun_s = time.perf_counter()
    report = fuzzer.report
    for frame in corpus:
        fuzzer.step(frame.data)
    while report.bytes < options.bytes and not report.findings:
        fuzzer.run(min(report.bytes + CHUNK_BYTES, int(options.bytes)))
        passed_s = time.perf_counter() - begun_s
        print(f"{report.bytes:,} bytes, {report.frames:,} frames, {passed_s:.0f} s", flush=True)
    print(", ".join(f"{count:,} {name}" for name, count in sorted(report.outcomes.items())))
    print(f"{len(report.findings)} findings")
    for finding in report.findings:
        show(finding)
    return bool(report.findings)


def show(finding: Finding) -> None:
    """Print what happened, and the line for the corpus."""
    print(finding.what)
    try:
        api_key = ApiKey(int.from_bytes(finding.data[SIZE_BYTES : SIZE_BYTES + 2]))
        version = int.from_bytes(finding.data[SIZE_BYTES + 2 : SIZE_BYTES + 4])
        print(CorpusFrame(api_key, version, finding.data).line())
    except ValueError:
        print(finding.data.hex())


if __name__ == "__main__":
    sys.exit(main())
