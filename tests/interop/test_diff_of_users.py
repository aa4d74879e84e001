"""Users of Apache Kafka with an authorizer: `proxy --diff` compares what each of them may do."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import TopicAuthorizationFailedError

from proxy.diff.report import SAME
from tests.interop.apache_cluster import ApacheCluster
from tests.interop.apache_kafka import PASSWORD, USERNAME, ApacheKafka
from tests.interop.comparing_proxy import Compared, comparing
from tests.interop.proxied_apache_cluster import PROPERTIES, TIMEOUT_S
from tests.interop.started_kafka import started

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("jvm")]
SUPER_USERS = f"User:ANONYMOUS;User:{USERNAME}"
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": SUPER_USERS,
}
BOB = "bob"
OAUTHBEARER = {
    "sasl.enabled.mechanisms": "SCRAM-SHA-256,OAUTHBEARER",
    "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
        ' unsecuredLoginStringClaim_sub="broker";'
    ),
    "offsets.topic.replication.factor": "1",
}
Settings = dict[str, Any]


def scram(user: str) -> Settings:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": user,
        "sasl.password": PASSWORD,
    }


def token(user: str) -> Settings:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "enable.sasl.oauthbearer.unsecure.jwt": "true",
        "sasl.oauthbearer.config": f"principal={user}",
    }


def give_rights(servers: str, topic: str) -> None:
    """Create a topic and two users' worth of it: bob may use it, and the group of its name."""
    admin = AdminClient({"bootstrap.servers": servers})
    for name in (topic, f"{topic}.secret"):
        admin.create_topics([confluent_kafka.admin.NewTopic(name, 2)])[name].result(TIMEOUT_S)
    credentials = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    bob = UserScramCredentialUpsertion(BOB, credentials, PASSWORD.encode())
    for changed in admin.alter_user_scram_credentials([bob]).values():
        changed.result(TIMEOUT_S)
    rules = [
        AclBinding(
            resource,
            topic,
            ResourcePatternType.LITERAL,
            f"User:{BOB}",
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for resource, operation in (
            (ResourceType.TOPIC, AclOperation.READ),
            (ResourceType.TOPIC, AclOperation.WRITE),
            (ResourceType.GROUP, AclOperation.READ),
        )
    ]
    for created in admin.create_acls(rules).values():
        created.result(TIMEOUT_S)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheCluster]:
    """Three brokers of Apache Kafka with an authorizer."""
    folder = tmp_path_factory.mktemp("cluster")
    with started(ApacheCluster(folder, 3, {**PROPERTIES, **AUTHORIZER})) as running:
        yield running


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """One broker that also takes unsigned tokens."""
    folder = tmp_path_factory.mktemp("kafka")
    with started(ApacheKafka(folder, properties={**AUTHORIZER, **OAUTHBEARER})) as running:
        yield running


def comparing_users(servers: str, folder: Path) -> Any:
    """Run a proxy that reads the cluster as a super user, and compares."""
    properties = folder / "client.properties"
    lines = (f"{name}={value}\n" for name, value in scram(USERNAME).items())
    properties.write_text("".join(lines))
    options = ("--sasl", "--to-config", str(properties), "-o", f"super.users={SUPER_USERS}")
    return comparing(servers, folder, *options)


def do_as(user: Settings, compared: Compared, topic: str) -> list[str]:
    """Do what bob may and what he may not; return the errors."""
    client = {"bootstrap.servers": compared.bootstrap_servers, **user}
    errors: list[str] = []

    def note(error: confluent_kafka.KafkaError | None, _message: object = None) -> None:
        if error is not None:
            errors.append(error.name())

    producer = confluent_kafka.Producer(client)
    for name in (topic, f"{topic}.secret"):
        producer.produce(name, b"one", on_delivery=note)
    assert producer.flush(TIMEOUT_S) == 0
    for group, name in ((topic, topic), (topic, f"{topic}.secret"), ("other", topic)):
        settings = {"group.id": group, "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer({**client, **settings})
        consumer.subscribe([name])
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        note(message.error())
        consumer.close()
    writer = confluent_kafka.Producer({**client, "transactional.id": topic})
    admin = AdminClient(client)
    new = confluent_kafka.admin.NewTopic(f"{topic}.new", 1)
    config = ConfigResource(ConfigResource.Type.TOPIC, topic)
    attempts: tuple[Callable[[], object], ...] = (
        lambda: writer.init_transactions(TIMEOUT_S),
        lambda: admin.create_topics([new])[new.topic].result(TIMEOUT_S),
        lambda: admin.delete_topics([topic])[topic].result(TIMEOUT_S),
        lambda: admin.describe_configs([config])[config].result(TIMEOUT_S),
    )
    for attempt in attempts:
        try:
            attempt()
        except confluent_kafka.KafkaException as error:
            note(error.args[0])
    # librdkafka returns no rules where the cluster refuses to show them.
    assert admin.describe_acls(every_rule()).result(TIMEOUT_S) == []
    assert f"{topic}.secret" not in admin.list_topics(timeout=TIMEOUT_S).topics
    return errors


def every_rule() -> Any:
    return confluent_kafka.admin.AclBindingFilter(
        ResourceType.ANY,
        None,
        ResourcePatternType.ANY,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


REFUSED = [
    "TOPIC_AUTHORIZATION_FAILED",
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "TOPIC_AUTHORIZATION_FAILED",
    "TOPIC_AUTHORIZATION_FAILED",
    "TOPIC_AUTHORIZATION_FAILED",
]


def test_a_user_with_some_rights_is_refused_the_same_things(
    cluster: ApacheCluster, tmp_path: Path, topic: str
) -> None:
    give_rights(cluster.bootstrap_servers, topic)
    with comparing_users(cluster.sasl_servers, tmp_path) as compared:
        errors = do_as(scram(BOB), compared, topic)
        use_kafka_python(compared, topic)
        administer(compared, topic)
    assert errors == REFUSED
    assert compared.differences == []
    assert compared.lines[-1] == SAME


def use_kafka_python(compared: Compared, topic: str) -> None:
    """Produce to a topic that bob may use and to another one, and read in a group."""
    client: Settings = {
        "bootstrap_servers": compared.bootstrap_servers,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": BOB,
        "sasl_plain_password": PASSWORD,
    }
    producer = KafkaProducer(**client)
    producer.send(topic, b"two").get(TIMEOUT_S)
    with pytest.raises(TopicAuthorizationFailedError):
        producer.send(f"{topic}.secret", b"two").get(TIMEOUT_S)
    producer.close()
    consumer = KafkaConsumer(topic, group_id=topic, auto_offset_reset="earliest", **client)
    assert consumer.poll(TIMEOUT_S * 1000)
    consumer.close()


def administer(compared: Compared, topic: str) -> None:
    """Give bob another right as a super user, and take it away."""
    admin = AdminClient({"bootstrap.servers": compared.bootstrap_servers, **scram(USERNAME)})
    rule = AclBinding(
        ResourceType.TOPIC,
        f"{topic}.secret",
        ResourcePatternType.LITERAL,
        f"User:{BOB}",
        "*",
        AclOperation.WRITE,
        AclPermissionType.ALLOW,
    )
    admin.create_acls([rule])[rule].result(TIMEOUT_S)
    client = {"bootstrap.servers": compared.bootstrap_servers, **scram(BOB)}
    producer = confluent_kafka.Producer(client)
    producer.produce(f"{topic}.secret", b"allowed now")
    assert producer.flush(TIMEOUT_S) == 0
    assert len(admin.describe_acls(every_rule()).result(TIMEOUT_S)) == 4


def test_the_user_of_a_token_has_the_rights_of_its_name(
    single: ApacheKafka, tmp_path: Path, topic: str
) -> None:
    give_rights(single.bootstrap_servers, topic)
    with comparing_users(single.sasl_servers, tmp_path) as compared:
        errors = do_as(token(BOB), compared, topic)
    assert errors == REFUSED
    assert compared.differences == []
    assert compared.lines[-1] == SAME
