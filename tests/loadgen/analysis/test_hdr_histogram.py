"""HdrHistogram's own library reads our logs and finds the times that are in them."""

import random
import re
import subprocess
from itertools import accumulate
from pathlib import Path

import pytest

from loadgen.analysis.hdr_histogram import (
    Interval,
    distribution_of,
    encoded,
    index_of,
    log_of,
    quantiles,
)
from scenarios.maven import CannotRunError, fetch_jars

VERSION = "2.2.2"
_LINE = re.compile(r"^ *([\d.]+) +([\d.]+) +(\d+)", re.MULTILINE)


@pytest.fixture(scope="module")
def jar() -> Path:
    try:
        folder = fetch_jars(
            f"hdrhistogram-{VERSION}", [f"org.hdrhistogram:HdrHistogram:{VERSION}"], only_these=True
        )
    except CannotRunError as error:
        pytest.skip(str(error))
    return folder / f"HdrHistogram-{VERSION}.jar"


def drawn(seed: int) -> dict[int, int]:
    random_ = random.Random(seed)
    times = [round(random_.lognormvariate(7, 3)) for _ in range(2_000)]
    return {0: 3, 1: 1, **{time_us: random_.randrange(1, 5_000) for time_us in times}}


def exact(counts: dict[int, int], share: float) -> int:
    """Return the shortest time that a share of the times does not exceed."""
    rank = share * sum(counts.values()) - 1e-4  # a share has twelve digits
    times = sorted(counts)
    until_here = accumulate(counts[time_us] for time_us in times)
    return next(time_us for time_us, count in zip(times, until_here, strict=True) if count >= rank)


def as_read(jar: Path, log: Path, *more: str) -> str:
    """Return the distribution that the library's processor of logs prints, in µs."""
    processor = "org.HdrHistogram.HistogramLogProcessor"
    found = subprocess.run(
        ["java", "-cp", str(jar), processor, "-i", str(log), "-outputValueUnitRatio", "1", *more],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return found.stdout


@pytest.mark.interop
@pytest.mark.slow
def test_the_library_of_hdrhistogram_reads_the_same_times(jar: Path, tmp_path: Path) -> None:
    first, second = drawn(1), drawn(2)
    log = tmp_path / "publish.hlog"
    intervals = [Interval(0.0, 10.0, "", first), Interval(10.0, 2.5, "", second)]
    log.write_text(log_of([*intervals, Interval(0.0, 10.0, "shop", {77: 5})], 1_700_000_000.0))
    both = {
        time_us: first.get(time_us, 0) + second.get(time_us, 0)
        for time_us in first.keys() | second.keys()
    }
    printed = as_read(jar, log)
    assert int(re.findall(r"Total count +=\s+(\d+)", printed)[0]) == sum(both.values())
    mean = sum(time_us * count for time_us, count in both.items()) / sum(both.values())
    assert float(re.findall(r"Mean +=\s+([\d.]+)", printed)[0]) == pytest.approx(mean, rel=0.001)
    lines = [(float(share), float(time)) for time, share, _ in _LINE.findall(printed)]
    assert len(lines) > 50
    for share, time_us in lines:
        assert time_us == pytest.approx(exact(both, share), rel=0.001, abs=1)
    tagged = as_read(jar, log, "-tag", "shop")
    assert int(re.findall(r"Total count +=\s+(\d+)", tagged)[0]) == 5


def test_the_percentages_are_those_that_the_library_reports() -> None:
    counts = drawn(3)
    found = list(quantiles(counts))
    assert [percent for percent, _, _ in found[:8]] == [0, 10, 20, 30, 40, 50, 55, 60]
    assert found[-1] == (100.0, max(counts), sum(counts.values()))
    for percent, time_us, until_here in found:
        assert time_us == exact(counts, percent / 100)
        assert until_here == sum(counts[known] for known in counts if known <= time_us)


def test_an_index_has_times_of_three_equal_digits() -> None:
    assert [index_of(time_us) for time_us in (0, 1, 2047, 2048, 2049, 2050)] == [
        0, 1, 2047, 2048, 2048, 2049,
    ]  # fmt: skip
    for time_us in (10_000, 123_456, 9_999_999, 3_599_999_999):
        step = 1 << (time_us.bit_length() - 11)
        assert step <= time_us / 1000
        assert index_of(time_us + step) == index_of(time_us) + 1


def test_the_encoding_of_nothing_is_a_histogram_too() -> None:
    assert encoded({}).startswith("HISTF")
    assert list(quantiles({})) == []


def test_a_distribution_ends_with_all_times_and_grows() -> None:
    counts = {1_000: 90, 2_000: 9, 30_000: 1}
    text = distribution_of(counts)
    lines = [(float(time), float(share), int(count)) for time, share, count in _LINE.findall(text)]
    assert lines == sorted(lines)
    assert lines[0] == (1.0, 0.0, 90)
    assert lines[-1] == (30.0, 1.0, 100)
    assert next(time for time, share, _ in lines if share >= 0.9) == 1.0
    assert "#[Mean    =        1.380, StdDeviation   =        2.891]" in text
    assert "#[Max     =       30.000, Total count    =          100]" in text
