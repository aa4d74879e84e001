"""The files of HdrHistogram: percentile distributions (`.hgrm`) and histogram logs (`.hlog`).

Times are whole µs with three significant digits. Sources: HdrHistogram's log format 1.3 and its V2
encoding (`HistogramLogWriter`, `AbstractHistogram.encodeIntoCompressedByteBuffer`).
"""

import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from math import ceil, floor, log2, sqrt
from struct import Struct
from typing import NamedTuple

Counts = Mapping[int, int]
"""How many times there are of each length in µs, in the order of the lengths."""

DIGITS = 3
HIGHEST_US = 3_600_000_000
TICKS_PER_HALF = 5
"""Lines of a distribution in each half of the distance to 100 %, as HdrHistogram has by default."""
_SUB_BUCKET_BITS = ceil(log2(2 * 10**DIGITS))
_HALF = 1 << (_SUB_BUCKET_BITS - 1)
_COOKIE, _COMPRESSED_COOKIE = 0x1C849313, 0x1C849314
_HEADER = Struct(">iiiiqqd")
_COMPRESSED_HEADER = Struct(">ii")
_LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'


class Interval(NamedTuple):
    """One line of a log."""

    start_s: float
    """From the beginning of the measured part."""
    length_s: float
    tag: str
    """What the histogram is of; empty for all together."""
    counts: Counts


def index_of(time_us: int) -> int:
    """Return the index of a time among the counts of an HdrHistogram."""
    bucket = max(0, time_us.bit_length() - _SUB_BUCKET_BITS)
    return ((bucket + 1) << (_SUB_BUCKET_BITS - 1)) + (time_us >> bucket) - _HALF


def encoded(counts: Counts) -> str:
    """Return a histogram as a line of a log has it: V2, compressed, in Base64."""
    by_index: dict[int, int] = {}
    for time_us, count in counts.items():
        index = index_of(time_us)
        by_index[index] = by_index.get(index, 0) + count
    payload, following = bytearray(), 0
    for index in sorted(by_index):
        zeros = index - following
        if zeros:
            _append(payload, 0 if zeros == 1 else -zeros)
        _append(payload, by_index[index])
        following = index + 1
    highest_us = max(HIGHEST_US, 2 * max(counts, default=1))
    header = _HEADER.pack(_COOKIE, len(payload), 0, DIGITS, 1, highest_us, 1.0)
    data = zlib.compress(header + payload)
    return b64encode(_COMPRESSED_HEADER.pack(_COMPRESSED_COOKIE, len(data)) + data).decode()


def _append(payload: bytearray, number: int) -> None:
    """Append a number as ZigZag LEB128."""
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    while rest > 0x7F:
        payload.append(rest & 0x7F | 0x80)
        rest >>= 7
    payload.append(rest)


def log_of(intervals: Iterable[Interval], began_epoch_s: float) -> str:
    """Return a log; the maxima of its intervals are in ms."""
    lines = [
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {began_epoch_s:.3f} (seconds since epoch)]",
        f"#[BaseTime: {began_epoch_s:.3f} (seconds since epoch)]",
        _LEGEND,
    ]
    for start_s, length_s, tag, counts in intervals:
        name = f"Tag={tag}," if tag else ""
        longest_ms = max(counts, default=0) / 1000
        lines.append(f"{name}{start_s:.3f},{length_s:.3f},{longest_ms:.3f},{encoded(counts)}")
    return "\n".join(lines) + "\n"


def quantiles(
    counts: Counts, ticks_per_half: int = TICKS_PER_HALF
) -> Iterator[tuple[float, int, int]]:
    """Yield percentage, time in µs and how many times are not longer, as HdrHistogram reports them.

    The steps halve whenever the distance to 100 % has halved.
    """
    total = sum(counts.values())
    percent, until_here = 0.0, 0
    for time_us in sorted(counts):
        until_here += counts[time_us]
        if until_here == total:
            break
        while 100.0 * until_here / total >= percent:
            yield percent, time_us, until_here
            halves = floor(log2(100.0 / (100.0 - percent))) + 1
            percent += 100.0 / (ticks_per_half * 2**halves)
    if total:
        yield 100.0, max(counts), total


def distribution_of(counts: Counts) -> str:
    """Return a percentile distribution in ms."""
    total = sum(counts.values())
    mean = sum(time_us * count for time_us, count in counts.items()) / total if total else 0.0
    squares = sum(count * (time_us - mean) ** 2 for time_us, count in counts.items())
    deviation = sqrt(squares / total) if total else 0.0
    longest_us = max(counts, default=0)
    lines = [f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}", ""]
    for percent, time_us, until_here in quantiles(counts):
        share = percent / 100
        line = f"{time_us / 1000:12.3f} {share:2.12f} {until_here:10d}"
        lines.append(line if share == 1 else f"{line} {1 / (1 - share):14.2f}")
    buckets = max(1, max(HIGHEST_US, 2 * longest_us).bit_length() - _SUB_BUCKET_BITS + 1)
    return "\n".join(
        [
            *lines,
            f"#[Mean    = {mean / 1000:12.3f}, StdDeviation   = {deviation / 1000:12.3f}]",
            f"#[Max     = {longest_us / 1000:12.3f}, Total count    = {total:12d}]",
            f"#[Buckets = {buckets:12d}, SubBuckets     = {2 * _HALF:12d}]",
            "",
        ]
    )
