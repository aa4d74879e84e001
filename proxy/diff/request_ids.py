"""Put our broker's ids into a request that was sent to the real cluster."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from protocol.message_schema import schema_of
from protocol.records import whole_batches, with_header
from proxy.diff.id_map import IdMap

_NO_PRODUCER = -1
_PREFIXES = ("", "v3_and_below_")
"""Of the fields of a producer: AddPartitionsToTxn has other names in its older versions."""
GENERATIONS = frozenset({"generation_id", "generation_id_or_member_epoch", "member_epoch"})
"""Fields with the generation of a group, or the epoch of its member."""


def with_our_ids(request: Any, ids: IdMap) -> Any:
    """Replace the ids of a decoded request in place; return it."""
    _replace(request, ids, "")
    return request


def _replace(message: Any, ids: IdMap, group_id: str) -> None:
    fields = schema_of(message).fields
    group_id = getattr(message, "group_id", None) or group_id
    member_id = getattr(message, "member_id", None) or ""
    for prefix in _PREFIXES:
        if f"{prefix}producer_id" in fields and f"{prefix}producer_epoch" in fields:
            _replace_producer(message, prefix, ids)
    for name, field in fields.items():
        value = getattr(message, name, None)
        if value is None:
            continue
        if field.is_struct_array():
            for element in value:
                _replace(element, ids, group_id)
        elif field.is_struct():
            _replace(value, ids, group_id)
        elif name in GENERATIONS and value > 0:
            setattr(message, name, ids.ours("generation", value, (group_id, member_id)))
        elif name in _TRANSLATED and value:
            setattr(message, name, _TRANSLATED[name](name, value, ids))


def _replace_producer(message: Any, prefix: str, ids: IdMap) -> None:
    producer_id = getattr(message, f"{prefix}producer_id")
    if producer_id is None or producer_id == _NO_PRODUCER:
        return
    epoch = getattr(message, f"{prefix}producer_epoch")
    setattr(message, f"{prefix}producer_id", ids.ours("producer_id", producer_id))
    if epoch is not None and epoch >= 0:
        setattr(message, f"{prefix}producer_epoch", our_epoch(ids, producer_id, epoch))


def our_epoch(ids: IdMap, producer_id: int, epoch: int) -> int:
    """Return our epoch of a producer, by the real producer id and epoch."""
    ours: int = ids.ours("producer_epoch", epoch, producer_id)
    return max(0, ours)


def batches_with_our_ids(records: bytes, ids: IdMap) -> bytes:
    """Return record batches with our producer ids and epochs; what is no batch stays as it is."""
    parts, position = [], 0
    for header, start, end in whole_batches(records):
        batch = records[start:end]
        if header.producer_id != _NO_PRODUCER:
            ours = header._replace(
                producer_id=ids.ours("producer_id", header.producer_id),
                producer_epoch=our_epoch(ids, header.producer_id, header.producer_epoch),
            )
            if ours != header:
                batch = with_header(batch, ours)
        parts.append(batch)
        position = end
    return b"".join((*parts, records[position:]))


def _our_id(kind: str, real: Any, ids: IdMap) -> Any:
    return ids.ours(kind, real)


def _our_topic_id(kind: str, real: UUID, ids: IdMap) -> UUID:
    return UUID(ids.ours(kind, str(real)))


def _our_hmac(kind: str, real: bytes, ids: IdMap) -> bytes:
    ours = ids.known_ours(kind, bytes(real).hex())
    return real if ours is None else bytes.fromhex(ours)


_TRANSLATED: dict[str, Callable[[str, Any, IdMap], Any]] = {
    "hmac": _our_hmac,
    "member_id": _our_id,
    "records": lambda _name, records, ids: batches_with_our_ids(bytes(records), ids),
    "session_id": _our_id,
    "topic_id": _our_topic_id,
}
"""Returns our value of a field, by its name."""
