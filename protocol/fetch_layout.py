"""Where the changing fields are in Fetch requests that are equal otherwise.

From version 9 on. `protocol/fetch.py` reads all requests.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple
from uuid import UUID

from protocol.fetch import (
    FLEXIBLE_VERSION_MIN,
    PARTITION,
    PARTITION_WITH_EPOCH,
    RACK_VERSION_MIN,
    TOPIC_ID_VERSION_MIN,
    ShortFetch,
    session_at,
)

EPOCH_BYTES = 4
SESSION_BYTES = 8
"""The id and the epoch of a session."""
FRAME_START_BYTES = 8
"""The size of a frame, its API key and version."""
CORRELATION_BYTES = 4

_ROW = Struct(">iiqi8xiB")
"""A partition of a flexible version, without its log start offset."""
_ROW_OF_OLD = Struct(">iiq8xi")

_OFFSET_AT = 8
_OFFSET_BYTES = 8
"""Where the fetch offset is in the bytes of a partition, in all versions from 9 on."""

Row = tuple[int, int, int, int]
"""Index, leader epoch, fetch offset and maximum of bytes of a partition."""


class FetchLayout(NamedTuple):
    """Where the partitions are in equal requests with at most one topic, from version 9 on.

    The requests differ in session epoch and partitions. Places count from the begin of the body.
    """

    topic: str | UUID
    is_flexible: bool
    names_at: int
    """Where the topics begin, behind the session epoch."""
    names: bytes
    """The bytes up to the first partition."""
    rows_at: int
    rows_end: int
    rest: bytes
    """The bytes behind the last partition."""

    @staticmethod
    def of(
        api_version: int, request: ShortFetch, frame: bytes | bytearray, start: int, end: int
    ) -> "FetchLayout":
        """Return the layout of the request in `frame[start:end]`, which `read_fetch` has read."""
        is_flexible = api_version >= FLEXIBLE_VERSION_MIN
        rack_bytes = len(request.rack_id.encode())
        if is_flexible:
            rest_bytes = 1 + 1 + rack_bytes + 1  # forgotten topics, rack, tags
        else:
            rest_bytes = 4
            rest_bytes += 2 + rack_bytes if api_version >= RACK_VERSION_MIN else 0
        names_at = start + session_at(api_version) + SESSION_BYTES
        topic: str | UUID = ""
        rows_end = end - rest_bytes
        rows_at = rows_end
        if request.topics:
            [named] = request.topics
            topic = named.topic_id if api_version >= TOPIC_ID_VERSION_MIN else named.topic
            rows_end -= 1 if is_flexible else 0  # the topic's tags
            row_bytes = (PARTITION if is_flexible else PARTITION_WITH_EPOCH).size
            rows_at = rows_end - len(named.partitions) * row_bytes
        return FetchLayout(
            topic,
            is_flexible,
            names_at - start,
            bytes(frame[names_at:rows_at]),
            rows_at - start,
            rows_end - start,
            bytes(frame[rows_end:end]),
        )

    def fits(self, frame: bytes | bytearray, start: int, end: int) -> bool:
        """Whether a request of this size has the same bytes around its partitions."""
        return (
            frame[start + self.names_at : start + self.rows_at] == self.names
            and frame[start + self.rows_end : end] == self.rest
        )

    def rows_of(self, frame: bytes | bytearray, start: int) -> bytes | bytearray:
        """Return the bytes of the partitions of a request that fits."""
        return frame[start + self.rows_at : start + self.rows_end]


def read_rows(rows: bytes | bytearray, *, is_flexible: bool) -> list[Row] | None:
    """Return the partitions of a request; None if one has a last fetched epoch or tagged fields."""
    if not is_flexible:
        return list(_ROW_OF_OLD.iter_unpack(rows))
    read = []
    for index, leader_epoch, offset, fetched_epoch, max_bytes, tags in _ROW.iter_unpack(rows):
        if fetched_epoch >= 0 or tags:
            return None
        read.append((index, leader_epoch, offset, max_bytes))
    return read


class FetchFrameLayout(NamedTuple):
    """Where the fields are in frames of one size and layout, counted from the size field.

    The frames differ in correlation id, session epoch and partitions.
    """

    unpack: Callable[[bytes], tuple[Any, ...]]
    """Returns start, correlation id, constant, session epoch, names, rows and rest.

    Of a layout with one partition it returns the fetch offset in place of the rows.
    """
    start: bytes
    """The size of the frame, its API key and version."""
    constant: bytes
    """From the client id to the session id."""
    names: bytes
    """With one partition up to its fetch offset."""
    rest: bytes
    """With one partition what comes behind its fetch offset."""

    @staticmethod
    def of(
        layout: FetchLayout,
        frame: bytes | bytearray,
        start: int,
        body_at: int,
        end: int,
        *,
        has_one: bool = False,
    ) -> "FetchFrameLayout":
        """Return that of `frame[start:end]`, a size and a request; its body begins at `body_at`.

        `has_one`: all frames name one partition, in the same way except for its fetch offset.
        """
        epoch_at = body_at + layout.names_at - EPOCH_BYTES
        constant_at = start + FRAME_START_BYTES + CORRELATION_BYTES
        changing_at, changing_end = body_at + layout.rows_at, body_at + layout.rows_end
        changing = f"{changing_end - changing_at}s"
        if has_one:
            changing_at += _OFFSET_AT
            changing_end, changing = changing_at + _OFFSET_BYTES, "q"
        names = bytes(frame[body_at + layout.names_at : changing_at])
        rest = bytes(frame[changing_end:end])
        return FetchFrameLayout(
            Struct(
                f">{FRAME_START_BYTES}s{CORRELATION_BYTES}s{epoch_at - constant_at}si"
                f"{len(names)}s{changing}{len(rest)}s"
            ).unpack,
            bytes(frame[start : start + FRAME_START_BYTES]),
            bytes(frame[constant_at:epoch_at]),
            names,
            rest,
        )
