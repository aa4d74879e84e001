"""Whether each acknowledged batch is stored once: what was sent and what was read back, by event.

A batch is known by producer id and place: topic, partition, epoch, sequence and records, or the
offset without a producer id. The hash of a place only has to differ within an event. An event may
have several places: it is several batches, or lies in several, or the client sent it again with
another producer id or epoch. A broker cannot know the latter, so each place counts alone: what is
stored twice at one, or stored where nothing was sent, or though it was refused, is repeated.
"""

from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow.compute import Expression, coalesce, field, if_else, scalar

from loadgen.analysis.arrow_queries import (
    Grouping,
    columns_of,
    count_if,
    flag,
    is_acknowledged,
    tenant_number,
)
from loadgen.expected_answers import ACKNOWLEDGED
from loadgen.plan.plan import Plan
from loadgen.plan.schedule import GOLDEN, mixed
from protocol.errors import RETRIABLE_ERRORS, ErrorCode

MAYBE_STORED = {*ACKNOWLEDGED, ErrorCode.UNKNOWN_SERVER_ERROR, *RETRIABLE_ERRORS}
"""The errors of a batch that the broker may have stored all the same."""
READ_BACK_COLUMNS = (
    "event_id",
    "producer_id",
    "topic",
    "partition",
    "epoch",
    "sequence",
    "records",
    "base_offset",
)
"""The columns of what was read back that these sums need."""
SENT_COLUMNS = (*READ_BACK_COLUMNS, "api", "tenant", "status", "error_code")
"""The same for the rows of requests."""
_PLACE = ("partition", "epoch", "sequence", "records", "offset")
_NO_OFFSET = -2
"""A lost batch has no offset; a refused one has -1."""

BATCHES = Grouping(
    {name: field(name) for name in ("event_id", "producer_id", "place")},
    {
        "number": ("max", field("number")),
        "is_acknowledged": ("max", field("is_acknowledged")),
        "may_be_stored": ("max", field("may_be_stored")),
        "times": ("sum", field("times")),
    },
)
"""What was sent and how often it was read, by place. `number` is that of the tenant, or 0."""
_OF_EVENTS = Grouping(
    {"event_id": field("event_id"), "producer_id": field("producer_id")},
    {
        "number": ("max", field("number")),
        "acknowledged": count_if(field("is_acknowledged") > 0),
        "missing": count_if((field("is_acknowledged") > 0) & (field("times") == 0)),
        "times": ("sum", field("times")),
        "firsts": count_if((field("may_be_stored") > 0) & (field("times") > 0)),
    },
)
STORED = Grouping(
    {"number": field("number")},
    {
        "acknowledged": ("sum", field("acknowledged")),
        "missing": ("sum", field("missing")),
        "repeated": ("sum", field("times") - field("firsts")),
    },
    field("number") > 0,
)
"""The batches of each tenant."""


def sent_batches(rows: pa.Table, plan: Plan) -> pa.Table:
    """Return the batches in the rows of requests, with the columns of BATCHES."""
    code = field("error_code")
    may_be_stored = (field("status") != "responded") | code.isin(sorted(map(int, MAYBE_STORED)))
    return _with_places(
        rows,
        {
            "number": tenant_number([tenant.name for tenant in plan.tenants]),
            "is_acknowledged": flag(is_acknowledged()),
            "may_be_stored": flag(may_be_stored),
            "times": scalar(0),
        },
        field("api") == "Produce",
    )


def stored_batches(rows: pa.Table) -> pa.Table:
    """Return the batches that were read back, with the columns of BATCHES."""
    none = scalar(0)
    columns = {"number": none, "is_acknowledged": none, "may_be_stored": none, "times": scalar(1)}
    return _with_places(rows, columns)


def of_events(batches: pa.Table) -> pa.Table:
    """Return sums for each event and producer id, from all batches of these events."""
    return _OF_EVENTS.of(BATCHES.of(batches))


def _with_places(
    rows: pa.Table, columns: Mapping[str, Expression], where: Expression | None = None
) -> pa.Table:
    producer_id = coalesce(field("producer_id"), -1)
    offset = if_else(producer_id < 0, coalesce(field("base_offset"), _NO_OFFSET), _NO_OFFSET)
    place = {name: coalesce(field(name).cast(pa.int64()), -1) for name in _PLACE[:-1]}
    found = columns_of(
        rows,
        {
            "event_id": field("event_id"),
            "producer_id": producer_id,
            "topic": field("topic"),
            **place,
            "offset": offset,
            **{name: value.cast(pa.int16()) for name, value in columns.items()},
        },
        where,
    )
    hashes = _topic_hashes(found["topic"].combine_chunks())
    for name in _PLACE:
        values = np.asarray(found[name]).astype(np.int64, copy=False).view(np.uint64)
        hashes = mixed((hashes + np.uint64(GOLDEN)) ^ values)
    kept = found.select(["event_id", "producer_id", *columns])
    return kept.append_column("place", pa.array(hashes.view(np.int64)))


def _topic_hashes(topics: pa.Array) -> npt.NDArray[np.uint64]:
    encoded = topics.dictionary_encode(null_encoding="encode")
    names = encoded.dictionary.to_pylist()
    digests = b"".join(blake2b((name or "").encode(), digest_size=8).digest() for name in names)
    hashes: npt.NDArray[np.uint64] = np.frombuffer(digests, np.uint64)[np.asarray(encoded.indices)]
    return hashes
