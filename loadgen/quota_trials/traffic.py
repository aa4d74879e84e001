"""The traffic that quotas are tried on: one row per request, as arrays in the order of time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from loadgen.traces.trace_file import SCHEMA, TraceError, read_trace

Integers = npt.NDArray[np.int64]

PRODUCE, FETCH, TOPICS = 1, 2, 3
APIS: Mapping[str, int] = {
    "Produce": PRODUCE,
    "Fetch": FETCH,
    "ShareFetch": FETCH,
    "CreateTopics": TOPICS,
    "CreatePartitions": TOPICS,
    "DeleteTopics": TOPICS,
}
"""The APIs that the quotas charge; all others are left out."""
SIZE_BYTES = 4
"""The size field of a response, which counts as fetched."""
_COLUMNS = (
    "time_us",
    "api",
    "user",
    "client_id",
    "connection",
    "broker",
    "request_bytes",
    "response_bytes",
    "producer_id",
    "topics",
    "mutations",
)

Client = tuple[str, str]
"""User and client id."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests in the order of time; each array has an entry per request."""

    source: str
    clients: list[Client]
    time_ms: Integers
    """From the first request."""
    client: Integers
    """The index in `clients`."""
    connection: Integers
    """Requests with equal numbers came over one connection."""
    broker: Integers
    api: Integers
    """One of the values in `APIS`."""
    size_bytes: Integers
    """Of the request for Produce, of the response for Fetch; 0 if it is unknown."""
    producer_id: Integers
    """-1 for none."""
    topics: Integers
    mutations: Integers
    """The partitions that the request creates, adds or deletes."""

    def __len__(self) -> int:
        return len(self.time_ms)

    @property
    def span_ms(self) -> int:
        """The time of the last request."""
        return int(self.time_ms[-1]) if len(self) else 0


def traffic_of_trace(path: Path) -> Traffic:
    """Return the traffic of a trace (docs/load.md has its formats).

    Raises:
        TraceError: it cannot be read, or has no request that a quota charges.
    """
    table = pa.Table.from_batches(_charged(path))
    if not table.num_rows:
        raise TraceError(f"{path} has no request of {', '.join(APIS)}")
    table = table.sort_by("time_us")
    users, user_names = _codes(table["user"])
    client_ids, client_id_names = _codes(table["client_id"])
    pairs, client = np.unique(users * len(client_id_names) + client_ids, return_inverse=True)
    codes, names = _codes(table["api"])
    api = np.array([APIS[name] for name in names], np.int64)[codes]
    time_us = _numbers(table, "time_us")
    response_bytes = _numbers(table, "response_bytes")
    return Traffic(
        source=str(path),
        clients=[
            (user_names[pair // len(client_id_names)], client_id_names[pair % len(client_id_names)])
            for pair in pairs.tolist()
        ],
        time_ms=(time_us - time_us[0]) // 1000,
        client=client,
        connection=_connections(table, client),
        broker=_numbers(table, "broker"),
        api=api,
        size_bytes=np.where(
            api == FETCH,
            np.where(response_bytes > 0, response_bytes + SIZE_BYTES, 0),
            _numbers(table, "request_bytes"),
        ),
        producer_id=_numbers(table, "producer_id"),
        topics=np.maximum(1, _numbers(table, "topics")),
        mutations=_numbers(table, "mutations"),
    )


def _charged(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of APIs that are charged, and an empty batch for the schema."""
    names = pa.array(list(APIS))
    yield pa.RecordBatch.from_pylist(
        [], schema=pa.schema([SCHEMA.field(name) for name in _COLUMNS])
    )
    for batch in read_trace(path):
        rows = batch.select(list(_COLUMNS))
        yield rows.filter(pc.is_in(rows.column("api"), names))


def _numbers(table: pa.Table, name: str) -> Integers:
    return np.asarray(table[name]).astype(np.int64)


def _codes(column: pa.ChunkedArray) -> tuple[Integers, list[str]]:
    encoded = column.combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices).astype(np.int64), encoded.dictionary.to_pylist()


def _connections(table: pa.Table, client: Integers) -> Integers:
    """Number the connections; the requests of a client without any share one at each broker."""
    codes, names = _codes(table["connection"])
    is_unnamed = codes == names.index("") if "" in names else np.zeros(len(codes), np.bool_)
    shared = len(names) + client * 100_000 + _numbers(table, "broker")
    return np.where(is_unnamed, shared, codes)
