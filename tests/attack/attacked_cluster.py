"""Requests that fill a cluster with what amplifying frames can name: partitions, groups, quotas."""

from collections.abc import Iterator
from typing import Any

from protocol import messages
from tests.broker.connection_driver import request_frame
from tests.broker.faults.requests import GROUP, TOPIC

PARTITIONS = 10_000
GROUPS = 2_000
QUOTAS = 200


def preparation_frames(
    partitions: int = PARTITIONS, groups: int = GROUPS, quotas: int = QUOTAS
) -> Iterator[bytes]:
    """Yield the requests that a new cluster gets before the attack; each has a response."""
    create: Any = messages.CreateTopicsRequest
    topic = create.CreatableTopic(
        version=5,
        name=TOPIC,
        num_partitions=partitions,
        replication_factor=1,
        assignments=[],
        configs=[
            create.CreatableTopic.CreatableTopicConfig(version=5, name="retention.ms", value="-1")
        ],
    )
    yield request_frame(create(version=5, topics=[topic], timeout_ms=60_000), 5, 1)
    commit: Any = messages.OffsetCommitRequest
    offset = commit.OffsetCommitRequestTopic.OffsetCommitRequestPartition(
        version=8, partition_index=0, committed_offset=0, committed_metadata=""
    )
    committed = commit.OffsetCommitRequestTopic(version=8, name=TOPIC, partitions=[offset])
    for number in range(groups):
        request = commit(
            version=8,
            group_id=GROUP if number == 0 else f"{GROUP}-{number}",
            generation_id_or_member_epoch=-1,
            member_id="",
            topics=[committed],
        )
        yield request_frame(request, 8, 1)
    alter: Any = messages.AlterClientQuotasRequest
    entity = alter.EntryData.EntityData
    entries = [
        alter.EntryData(
            version=1,
            entity=[entity(version=1, entity_type="client-id", entity_name=f"c-{number}")],
            ops=[
                alter.EntryData.OpData(version=1, key="producer_byte_rate", value=1e9, remove=False)
            ],
        )
        for number in range(quotas)
    ]
    if entries:
        yield request_frame(alter(version=1, entries=entries, validate_only=False), 1, 1)
