"""Read the figures of one run from its `summary.json` and its rows.

Rows are read in batches and counted in histograms, so memory does not depend on the number of rows.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from loadgen.expected_answers import NO_ERRORS
from loadgen.rows import RESULTS
from loadgen.storage import Storage, StorageError

_GROWTH = 1.01
"""Each bin of a histogram is 1 % wider than the one below: a percentile is exact to 0.5 %."""
_BINS = 2800
"""NONE; DUPLICATE_SEQUENCE_NUMBER, which acknowledges; MEMBER_ID_REQUIRED, which is no error."""
_COLUMNS = (
    "tenant",
    "api",
    "intended_us",
    "response_us",
    "status",
    "error_code",
    "throttle_time_ms",
)
_KEYS = ("plan", "seed", "run_id", "is_complete", "measured_s", "verdicts", "series")

Key = tuple[str, str]
"""A tenant and an API."""


def _no_latencies() -> NDArray[np.int64]:
    return np.zeros(_BINS, np.int64)


@dataclass(slots=True)
class ApiFigures:
    """The requests of one tenant and API whose intended time is in the measured part."""

    requests: int = 0
    successful: int = 0
    throttled: int = 0
    throttle_time_ms: int = 0
    latencies: NDArray[np.int64] = field(default_factory=_no_latencies)
    """Responses in each bin, from the intended time of a request to its response."""

    def percentile_us(self, share: float) -> float | None:
        """Return the latency that `share` of the responses do not exceed; None without any."""
        total = int(self.latencies.sum())
        if not total:
            return None
        index = int(np.searchsorted(np.cumsum(self.latencies), max(1.0, share * total)))
        return float(_GROWTH ** (index + 0.5))

    def curve(self) -> tuple[list[float], list[float]]:
        """Return latencies in ms, and the share of responses that do not exceed each of them."""
        [used] = np.nonzero(self.latencies)
        shares = np.cumsum(self.latencies)[used] / max(1, int(self.latencies.sum()))
        return (_GROWTH ** (used + 1.0) / 1000).tolist(), shares.tolist()


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One run: one seed of one side of a comparison."""

    path: str
    plan: str
    seed: int
    is_complete: bool
    measured_s: float
    verdicts: list[dict[str, str]]
    series: Mapping[str, Any]
    apis: Mapping[Key, ApiFigures]


def read_run(storage: Storage) -> RunFigures:
    """Read the run that the folder's `summary.json` is about.

    Raises:
        StorageError: the folder has no summary or no rows of that run.
    """
    path = storage.of("summary.json")
    try:
        summary = json.loads(storage.read("summary.json"))
        found = {key: summary[key] for key in _KEYS}
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{path} is not a summary of this version: {error!r}") from error
    folder = (RESULTS, f"run={found.pop('run_id')}")
    if not storage.names(*folder):
        raise StorageError(f"{storage.of(*folder)} has no rows")
    apis: dict[Key, ApiFigures] = {}
    measured_us = round(found["measured_s"] * 1e6)
    for batch in storage.batches(_COLUMNS, *folder):
        count_rows(batch, measured_us, apis)
    return RunFigures(storage.url, apis=apis, **found)


def count_rows(batch: pa.RecordBatch, measured_us: int, apis: dict[Key, ApiFigures]) -> None:
    """Add the rows of a batch to the figures of each tenant and API."""
    columns = {name: batch.column(name) for name in _COLUMNS}
    keys = []
    for name in ("tenant", "api"):
        encoded = columns[name].fill_null("").dictionary_encode()
        keys.append((encoded.dictionary.to_pylist(), np.asarray(encoded.indices)))
    (tenants, tenant_codes), (api_names, api_codes) = keys
    numbers = {
        name: np.asarray(columns[name].fill_null(0))
        for name in ("intended_us", "response_us", "error_code", "throttle_time_ms")
    }
    intended_us, throttle_ms = numbers["intended_us"], numbers["throttle_time_ms"]
    is_responded = pc.equal(columns["status"], "responded").fill_null(fill_value=False)
    responded = np.asarray(is_responded)
    is_measured = (intended_us >= 0) & (intended_us < measured_us)
    is_successful = responded & np.isin(numbers["error_code"], NO_ERRORS)
    latency_us = np.maximum(1, numbers["response_us"] - intended_us)
    bins = np.minimum(_BINS - 1, (np.log(latency_us) / log(_GROWTH)).astype(np.int64))
    codes = tenant_codes.astype(np.int64) * len(api_names) + api_codes
    for code in np.unique(codes[is_measured]):
        mine = is_measured & (codes == code)
        tenant, api = divmod(int(code), len(api_names))
        figures = apis.setdefault((tenants[tenant], api_names[api]), ApiFigures())
        figures.requests += int(mine.sum())
        figures.successful += int((mine & is_successful).sum())
        figures.throttled += int((mine & (throttle_ms > 0)).sum())
        figures.throttle_time_ms += int(throttle_ms[mine].sum())
        figures.latencies += np.bincount(bins[mine & responded], minlength=_BINS)
