"""Admin clients create, list and delete rules, and clients report what a rule denies them."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import aiokafka.errors
import confluent_kafka
import kafka.errors
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import admin as librdkafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)

from mock_kafka import MockKafka
from scenarios.clients.deadline import DEADLINE_S

USERS = {"admin": "admin-secret", "alice": "alice-secret"}
TOPIC, GROUP, TRANSACTIONAL_ID = "orders", "readers", "copier"


@pytest.fixture(scope="module")
def secured() -> Iterator[MockKafka]:
    config = {"authorizer.class.name": "acl", "super.users": "User:admin"}
    with MockKafka(users=USERS, config=config) as running:
        yield running


@pytest.fixture(autouse=True)
def topic_without_rules(secured: MockKafka) -> None:
    secured.reset()
    with closing(kafka_python_admin(secured)) as admin:
        admin.create_topics({TOPIC: {"num_partitions": 1, "replication_factor": 1}})


def settings(secured: MockKafka, library: Any, user: str) -> dict[str, Any]:
    return dict(secured.client_settings(library, user=user))


def kafka_python_admin(secured: MockKafka) -> Any:
    return KafkaAdminClient(**settings(secured, "kafka-python", "admin"))


def rule(
    operation: ACLOperation,
    resource_type: ResourceType,
    name: str,
    pattern_type: ACLResourcePatternType = ACLResourcePatternType.LITERAL,
    permission_type: ACLPermissionType = ACLPermissionType.ALLOW,
) -> Any:
    pattern = ResourcePattern(resource_type, name, pattern_type)
    return ACL("User:alice", "*", operation, permission_type, pattern)


def allow(secured: MockKafka, *rules: Any) -> None:
    with closing(kafka_python_admin(secured)) as admin:
        assert not admin.create_acls(rules)["failed"]


ANY_RULE = ACLFilter(
    None,
    None,
    ACLOperation.ANY,
    ACLPermissionType.ANY,
    ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
)


def test_kafka_python_creates_lists_and_deletes_rules(secured: MockKafka) -> None:
    rules = {
        rule(ACLOperation.READ, ResourceType.TOPIC, TOPIC),
        rule(ACLOperation.ALL, ResourceType.GROUP, "read", ACLResourcePatternType.PREFIXED),
        rule(
            ACLOperation.ALTER,
            ResourceType.CLUSTER,
            "kafka-cluster",
            permission_type=ACLPermissionType.DENY,
        ),
    }
    with closing(kafka_python_admin(secured)) as admin:
        assert set(admin.create_acls(list(rules))["succeeded"]) == rules
        found, error = admin.describe_acls(ANY_RULE)
        assert (set(found), error) == (rules, kafka.errors.NoError)
        matching = ACLFilter(
            "User:alice",
            None,
            ACLOperation.ANY,
            ACLPermissionType.ANY,
            ResourcePatternFilter(ResourceType.GROUP, GROUP, ACLResourcePatternType.MATCH),
        )
        [(_, deleted, _)] = admin.delete_acls([matching])
        assert [acl.resource_pattern.resource_name for acl in deleted] == ["read"]
        assert len(admin.describe_acls(ANY_RULE)[0]) == 2


def test_confluent_kafka_creates_lists_and_deletes_rules(secured: MockKafka) -> None:
    admin = librdkafka.AdminClient(settings(secured, "confluent", "admin"))
    bindings = [
        librdkafka.AclBinding(
            kind, name, pattern, "User:alice", host, operation, librdkafka.AclPermissionType.ALLOW
        )
        for kind, name, pattern, host, operation in (
            (
                librdkafka.ResourceType.TOPIC,
                TOPIC,
                librdkafka.ResourcePatternType.LITERAL,
                "*",
                librdkafka.AclOperation.WRITE,
            ),
            (
                librdkafka.ResourceType.TRANSACTIONAL_ID,
                "copy",
                librdkafka.ResourcePatternType.PREFIXED,
                "10.0.0.1",
                librdkafka.AclOperation.DESCRIBE,
            ),
        )
    ]
    for future in admin.create_acls(bindings).values():
        future.result(DEADLINE_S)
    every = librdkafka.AclBindingFilter(
        librdkafka.ResourceType.ANY,
        None,
        librdkafka.ResourcePatternType.ANY,
        None,
        None,
        librdkafka.AclOperation.ANY,
        librdkafka.AclPermissionType.ANY,
    )
    assert set(admin.describe_acls(every).result(DEADLINE_S)) == set(bindings)
    [deleted] = admin.delete_acls([every]).values()
    assert set(deleted.result(DEADLINE_S)) == set(bindings)
    assert admin.describe_acls(every).result(DEADLINE_S) == []


def test_admin_clients_report_that_rules_need_alter_on_the_cluster(secured: MockKafka) -> None:
    with closing(KafkaAdminClient(**settings(secured, "kafka-python", "alice"))) as admin:
        created = admin.create_acls([rule(ACLOperation.READ, ResourceType.TOPIC, TOPIC)])
        assert created["failed"] == [kafka.errors.ClusterAuthorizationFailedError]
    confluent = librdkafka.AdminClient(settings(secured, "confluent", "alice"))
    binding = librdkafka.AclBinding(
        librdkafka.ResourceType.TOPIC,
        TOPIC,
        librdkafka.ResourcePatternType.LITERAL,
        "User:alice",
        "*",
        librdkafka.AclOperation.READ,
        librdkafka.AclPermissionType.ALLOW,
    )
    [created] = confluent.create_acls([binding]).values()
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        created.result(DEADLINE_S)
    code = confluent_kafka.KafkaError.CLUSTER_AUTHORIZATION_FAILED
    assert raised.value.args[0].code() == code


def test_kafka_python_reports_what_a_producer_and_a_consumer_may_not_do(
    secured: MockKafka,
) -> None:
    alice = settings(secured, "kafka-python", "alice")
    with closing(KafkaProducer(**alice, enable_idempotence=False)) as producer:
        with pytest.raises(kafka.errors.TopicAuthorizationFailedError):
            producer.send(TOPIC, b"x").get(DEADLINE_S)
        allow(secured, rule(ACLOperation.WRITE, ResourceType.TOPIC, TOPIC))
        assert producer.send(TOPIC, b"x").get(DEADLINE_S).offset == 0
    assert poll_error(alice) is kafka.errors.GroupAuthorizationFailedError
    allow(secured, rule(ACLOperation.READ, ResourceType.GROUP, GROUP))
    assert poll_error(alice) is kafka.errors.TopicAuthorizationFailedError


def poll_error(alice: dict[str, Any]) -> type[Exception]:
    """Return what a member of the group raises that polls the topic."""
    with closing(KafkaConsumer(TOPIC, group_id=GROUP, **alice)) as consumer:
        try:
            records = consumer.poll(DEADLINE_S * 1000)
        except kafka.errors.KafkaError as error:
            return type(error)
    raise AssertionError(f"no error, but {records}")


def test_aiokafka_reports_what_a_producer_and_a_consumer_may_not_do(secured: MockKafka) -> None:
    async def fail() -> None:
        alice = settings(secured, "aiokafka", "alice")
        producer = AIOKafkaProducer(**alice)
        await producer.start()
        try:
            with pytest.raises(aiokafka.errors.TopicAuthorizationFailedError):
                await producer.send_and_wait(TOPIC, b"x")
        finally:
            await producer.stop()
        allow(secured, rule(ACLOperation.DESCRIBE, ResourceType.TOPIC, TOPIC))
        consumer = AIOKafkaConsumer(TOPIC, group_id=GROUP, **alice)
        try:
            with pytest.raises(aiokafka.errors.GroupAuthorizationFailedError):
                await consumer.start()
        finally:
            await consumer.stop()
        reader = AIOKafkaConsumer(TOPIC, auto_offset_reset="earliest", **alice)
        await reader.start()
        try:
            with pytest.raises(aiokafka.errors.TopicAuthorizationFailedError):
                await reader.getone()
        finally:
            await reader.stop()

    asyncio.run(asyncio.wait_for(fail(), DEADLINE_S))


def test_librdkafka_reports_what_a_producer_and_a_consumer_may_not_do(secured: MockKafka) -> None:
    alice = settings(secured, "confluent", "alice")
    errors: list[Any] = []
    producer = confluent_kafka.Producer(alice)
    producer.produce(TOPIC, b"x", on_delivery=lambda error, _: errors.append(error.code()))
    assert producer.flush(DEADLINE_S) == 0
    assert errors == [confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED]
    consumer = confluent_kafka.Consumer({**alice, "group.id": GROUP})
    with closing(consumer):
        consumer.subscribe([TOPIC])
        message = consumer.poll(DEADLINE_S)
        assert message.error().code() == confluent_kafka.KafkaError.GROUP_AUTHORIZATION_FAILED


def test_a_transactional_producer_needs_a_rule_for_its_transactional_id(
    secured: MockKafka,
) -> None:
    alice = settings(secured, "confluent", "alice")
    config = {**alice, "transactional.id": TRANSACTIONAL_ID}
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        confluent_kafka.Producer(config).init_transactions(DEADLINE_S)
    code = confluent_kafka.KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert (raised.value.args[0].code(), raised.value.args[0].fatal()) == (code, True)
    allow(
        secured,
        rule(ACLOperation.WRITE, ResourceType.TRANSACTIONAL_ID, TRANSACTIONAL_ID),
        rule(ACLOperation.WRITE, ResourceType.TOPIC, TOPIC),
    )
    producer = confluent_kafka.Producer(config)
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    producer.produce(TOPIC, b"x")
    producer.commit_transaction(DEADLINE_S)
    assert [record.value for record in secured.records(TOPIC)] == [b"x"]
