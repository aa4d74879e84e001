"""A real producer, whose rights an administrator removes and gives back."""

from typing import Any

from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from mock_kafka import MockKafka
from scenarios.clients.deadline import DEADLINE_S

USERS = {"admin": "a", "alice": "b"}
CONFIG = {"authorizer.class.name": "acl", "super.users": "User:admin"}


def write(permission: AclPermissionType, pattern: ResourcePatternType, name: str) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC, name, pattern, "User:alice", "*", AclOperation.WRITE, permission
    )


ALLOW = write(AclPermissionType.ALLOW, ResourcePatternType.PREFIXED, "ord")
DENY = write(AclPermissionType.DENY, ResourcePatternType.LITERAL, "orders")
OF_ALICE = AclBindingFilter(
    ResourceType.ANY,
    None,
    ResourcePatternType.ANY,
    "User:alice",
    None,
    AclOperation.ANY,
    AclPermissionType.ANY,
)


class Alice:
    """A producer that sends one record and waits for the result."""

    def __init__(self, kafka: MockKafka) -> None:
        settings = kafka.client_settings("confluent", user="alice")
        self._producer = Producer({**settings, "linger.ms": 0})
        self._errors: list[Any] = []

    def send(self) -> Any:
        """Return the error code, or None."""
        self._producer.produce("orders", b"v", on_delivery=self._delivered)
        assert self._producer.flush(DEADLINE_S) == 0
        return self._errors.pop()

    def _delivered(self, error: Any, _message: Any) -> None:
        self._errors.append(None if error is None else error.code())


def test_rules_apply_to_the_next_record_of_a_producer() -> None:
    with MockKafka(users=USERS, config=CONFIG) as kafka:
        admin = AdminClient(kafka.client_settings("confluent", user="admin"))
        for created in admin.create_topics([NewTopic("orders", 1)]).values():
            created.result(DEADLINE_S)
        for result in admin.create_acls([ALLOW]).values():
            result.result(DEADLINE_S)
        alice = Alice(kafka)
        for _ in range(5):
            assert alice.send() is None
        for result in admin.create_acls([DENY]).values():
            result.result(DEADLINE_S)
        found = admin.describe_acls(OF_ALICE).result(DEADLINE_S)
        assert sorted(found, key=str) == sorted([ALLOW, DENY], key=str)
        assert alice.send() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert len(kafka.records("orders")) == 5
        for deleted in admin.delete_acls([OF_ALICE]).values():
            assert len(deleted.result(DEADLINE_S)) == 2
        assert admin.describe_acls(OF_ALICE).result(DEADLINE_S) == []
        for result in admin.create_acls([ALLOW]).values():
            result.result(DEADLINE_S)
        assert Alice(kafka).send() is None
        assert len(kafka.records("orders")) == 6
