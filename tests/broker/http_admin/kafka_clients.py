"""Kafka clients that the tests of the admin port connect."""

import asyncio
from contextlib import suppress

from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.http_admin.state import Admin
from broker.produce.append import append_batch
from protocol.api_keys import ApiKey
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_context
from tests.broker.connection_driver import metadata_frame


async def connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect a client and wait for its first response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(metadata_frame(1))
    await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    return reader, writer


async def leave(writer: asyncio.StreamWriter) -> None:
    """Close a client's connection, if it is open."""
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


def commit(admin: Admin, group_id: str, topic: str, offset: int) -> None:
    request = CommitRequest(
        group_id=group_id,
        member_id="",
        group_instance_id=None,
        generation_id=-1,
        offsets=(OffsetToCommit(topic, 0, offset, -1, "m"),),
    )
    ensure_internal_topic(admin.cluster, GROUP_METADATA)
    assert admin.cluster.groups.table.commit(request, NOW_MS) == (0,)


def produce(admin: Admin, name: str, producer_id: int, partition_index: int = 0) -> None:
    topic = admin.topic(name)
    batch = make_batch(b"x", producer_id=producer_id, producer_epoch=0, base_sequence=0)
    partition = topic.partitions[partition_index]
    context = make_context(ApiKey.PRODUCE, 9, broker_id=partition.leader_id)
    append_batch(context, admin.cluster, topic, partition, batch, 0, len(batch))
