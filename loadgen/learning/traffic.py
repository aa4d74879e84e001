"""A trace in memory, sorted by time, and the streams of requests that become tenants."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from loadgen.traces.trace_file import SCHEMA, read_trace

Numbers = npt.NDArray[np.int64]

TOPIC_CHANGES = {
    "CreateTopics": "topic-creator",
    "CreatePartitions": "topic-expander",
    "DeleteTopics": "topic-deleter",
}
"""The behaviour of each API that changes topics."""
_NUMBER_AT_END = re.compile(r"[-_.]?\d+$")
_TEXTS = ("api", "user", "client_id", "connection", "topic", "group", "transactional_id")


@dataclass(frozen=True, slots=True)
class Stream:
    """Requests of one kind from the clients of one user; `rows` are sorted by time."""

    kind: str
    """`produce`, `transactions`, `fetch`, or a behaviour of `TOPIC_CHANGES`."""
    user: str
    client_id: str
    """Without a number at its end: `producer-7` belongs to the clients `producer`."""
    topic: str
    rows: Numbers


class Traffic:
    """The rows of a trace, sorted by time.

    Attributes:
        columns: a column of numbers by name; texts are numbers in `texts`.
        texts: the texts of a column by number.
    """

    def __init__(self, table: pa.Table) -> None:
        """Take rows with `trace_file.SCHEMA`."""
        table = table.sort_by("time_us")
        self.columns: dict[str, Numbers] = {}
        self.texts: dict[str, list[str]] = {}
        for name in SCHEMA.names:
            column: Any = table[name]
            if name in _TEXTS:
                encoded = column.combine_chunks().dictionary_encode()
                if isinstance(encoded, pa.ChunkedArray):
                    encoded = encoded.combine_chunks()
                self.texts[name] = encoded.dictionary.to_pylist()
                column = encoded.indices
            self.columns[name] = column.to_numpy().astype(np.int64)

    def __len__(self) -> int:
        return len(self.columns["time_us"])

    def is_api(self, *names: str) -> npt.NDArray[np.bool_]:
        """Return which rows are requests of these APIs."""
        return np.isin(self.columns["api"], [self.number_of("api", name) for name in names])

    def number_of(self, column: str, text: str) -> int:
        """Return the number of a text in a column; -1 if it does not occur."""
        texts = self.texts[column]
        return texts.index(text) if text in texts else -1


def read_traffic(path: Path) -> Traffic:
    """Return a trace.

    Raises:
        TraceError: it cannot be read.
    """
    return Traffic(pa.Table.from_batches(read_trace(path), schema=SCHEMA))


def streams_of(traffic: Traffic) -> list[Stream]:
    """Return the streams of all requests whose kind a plan can have."""
    kinds = np.full(len(traffic), -1, np.int64)
    names = ["produce", "transactions", "fetch", *TOPIC_CHANGES.values()]
    has_transaction = traffic.columns["transactional_id"] != traffic.number_of(
        "transactional_id", ""
    )
    produce = traffic.is_api("Produce")
    kinds[produce & ~has_transaction] = 0
    kinds[(produce & has_transaction) | traffic.is_api("EndTxn")] = 1
    kinds[traffic.is_api("Fetch")] = 2
    for api, behaviour in TOPIC_CHANGES.items():
        kinds[traffic.is_api(api)] = names.index(behaviour)
    stems = _stems(traffic.texts["client_id"])
    unique_stems = sorted(set(stems))
    stem_numbers = np.array([unique_stems.index(stem) for stem in stems] or [0], np.int64)
    topics = np.where(kinds == 0, _main_topics(traffic, produce), traffic.columns["topic"])
    topics[(kinds == 1) | (kinds > 2)] = -1
    keys = np.stack(
        [kinds, traffic.columns["user"], stem_numbers[traffic.columns["client_id"]], topics]
    )
    known = np.flatnonzero(kinds >= 0)
    if not len(known):
        return []
    unique, owners = np.unique(keys[:, known], axis=1, return_inverse=True)
    owners = owners.reshape(-1)
    order = np.argsort(owners, kind="stable")
    parts = np.split(known[order], np.flatnonzero(np.diff(owners[order])) + 1)
    return [
        Stream(
            names[kind],
            traffic.texts["user"][user],
            unique_stems[stem],
            traffic.texts["topic"][topic] if topic >= 0 else "",
            rows,
        )
        for (kind, user, stem, topic), rows in zip(unique.T.tolist(), parts, strict=True)
    ]


def first_rows(ids: Numbers) -> Numbers:
    """Return the index at which each number occurs first, in the order of the numbers."""
    return np.unique(ids, return_index=True)[1]


def _main_topics(traffic: Traffic, produce: npt.NDArray[np.bool_]) -> Numbers:
    """Return for each row the first topic that its producer id writes to, or its own topic."""
    topics = traffic.columns["topic"].copy()
    rows = np.flatnonzero(produce & (traffic.columns["producer_id"] >= 0))
    if len(rows):
        _, firsts, owners = np.unique(
            traffic.columns["producer_id"][rows], return_index=True, return_inverse=True
        )
        topics[rows] = topics[rows][firsts][owners]
    return topics


def _stems(client_ids: list[str]) -> list[str]:
    return [_NUMBER_AT_END.sub("", client_id) or client_id for client_id in client_ids]
