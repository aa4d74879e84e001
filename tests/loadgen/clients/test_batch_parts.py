"""Each record of a batch belongs to the event in its value, or to that of the record before."""

from loadgen.clients.batch_parts import BatchPart, parts_of
from loadgen.clients.produce_frames import EVENT, record_batch
from protocol.batch_builder import BatchBuilder


def batch_of(*values: bytes, compression: str = "none") -> bytes:
    builder = BatchBuilder(compression, 10_000)
    for value in values:
        builder.append(0, b"key", value, [])
    return builder.build()


def values(event_id: int, count: int) -> list[bytes]:
    return [EVENT.pack(event_id).ljust(20, b".")] * count


def test_a_batch_of_several_events_has_a_part_for_each_of_them() -> None:
    batch = batch_of(*values(7, 2), *values(8, 3), *values(9, 1), compression="gzip")
    assert parts_of(batch) == [BatchPart(7, 0, 2), BatchPart(8, 2, 3), BatchPart(9, 5, 1)]


def test_values_without_an_id_belong_to_the_event_before() -> None:
    batch, event_position = record_batch(3, 20, 0)
    patched = bytearray(batch)
    EVENT.pack_into(patched, event_position, 5)
    assert parts_of(bytes(patched)) == [BatchPart(5, 0, 3)]


def test_a_batch_of_another_client_has_no_parts() -> None:
    assert parts_of(batch_of(b"short", *values(7, 1))) == []
    assert parts_of(batch_of(*values(7, 1), b"")) == []
