"""All calls of aiokafka's admin client, which uses the oldest versions of the admin APIs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiokafka
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from mock_kafka import MockKafka
from scenarios.clients.aiokafka import AIOKAFKA
from scenarios.clients.deadline import DEADLINE_S
from scenarios.clients.interface import Record


@asynccontextmanager
async def admin_of(kafka: MockKafka) -> AsyncIterator[Any]:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    await admin.start()
    try:
        async with asyncio.timeout(DEADLINE_S):
            yield admin
    finally:
        await admin.close()


def codes(entries: Any) -> dict[str, int]:
    return {entry[0]: entry[1] for entry in entries}


async def retention_of(admin: Any, topic: str) -> str:
    requested = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": None})
    [response] = await admin.describe_configs([requested])
    [(_code, _message, _type, _name, [entry])] = response.resources
    assert entry[0] == "retention.ms"
    value: str = entry[1]
    return value


async def test_topics_are_created_listed_described_and_deleted(
    kafka_of_three: MockKafka, topic: str
) -> None:
    async with admin_of(kafka_of_three) as admin:
        requested = NewTopic(topic, 3, 3, topic_configs={"retention.ms": "77777"})
        response = await admin.create_topics([requested, NewTopic("not a name", 1, 1)])
        assert codes(response.topic_errors) == {topic: 0, "not a name": 17}
        assert codes((await admin.create_topics([requested])).topic_errors) == {topic: 36}
        assert topic in await admin.list_topics()
        [found] = await admin.describe_topics([topic])
        assert {part["leader"] for part in found["partitions"]} == {1, 2, 3}
        cluster = await admin.describe_cluster()
        assert [broker["node_id"] for broker in cluster["brokers"]] == [1, 2, 3]
        response = await admin.delete_topics([topic, "missing"])
        assert codes(response.topic_error_codes) == {topic: 0, "missing": 3}
        assert topic not in await admin.list_topics()


async def test_configs_are_described_and_replaced(kafka_of_three: MockKafka, topic: str) -> None:
    async with admin_of(kafka_of_three) as admin:
        await admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"retention.ms": "77777"})])
        assert await retention_of(admin, topic) == "77777"
        requested = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": "6"})
        [response] = await admin.alter_configs([requested])
        assert response.resources[0][0] == 0
        assert await retention_of(admin, topic) == "6"


async def test_partitions_are_added_and_records_deleted(
    kafka_of_three: MockKafka, topic: str
) -> None:
    async with admin_of(kafka_of_three) as admin:
        await admin.create_topics([NewTopic(topic, 1, 1)])
        response = await admin.create_partitions({topic: NewPartitions(5)})
        assert codes(response.topic_errors) == {topic: 0}
        servers = kafka_of_three.bootstrap_servers
        await asyncio.to_thread(AIOKAFKA.produce, servers, topic, [Record(value=b"x")] * 10)
        where = aiokafka.TopicPartition(topic, 0)
        assert await admin.delete_records({where: RecordsToDelete(4)}) == {where: 4}


async def test_groups_are_listed_and_described_with_their_offsets(
    kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers

    async with admin_of(kafka_of_three) as admin:
        await admin.create_topics([NewTopic(topic, 1, 1)])
        await asyncio.to_thread(AIOKAFKA.produce, servers, topic, [Record(value=b"x")] * 10)
        async with aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest"
        ) as consumer:
            await consumer.getone()
            await consumer.commit()
            assert (topic, "consumer") in await admin.list_consumer_groups()
            assert await admin.find_coordinator(topic) in {1, 2, 3}
            [response] = await admin.describe_consumer_groups([topic])
            [(code, name, state, *_rest)] = response.groups
            assert (code, name, state) == (0, topic, "Stable")
            offsets = await admin.list_consumer_group_offsets(topic)
            assert offsets[aiokafka.TopicPartition(topic, 0)].offset == 1
