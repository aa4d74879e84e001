"""An Apache Kafka that experiments run against: how it is brought into a situation, and its log."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast
from uuid import uuid4

from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import OffsetAndMetadata, TopicPartition
from msgspec.structs import replace

from atlas.clusters import read_from_the_start
from atlas.experiment import StoredRecord
from atlas.situation import Situation
from atlas.steps import GROUP
from client import ApiError, clock, open_admin
from client.admin import Admin
from client.resources import (
    AccessControlEntry,
    AclBinding,
    ConfigResource,
    NewTopic,
    QuotaChange,
    ResourcePattern,
    TopicDescription,
)
from loadgen.command_error import CommandError
from protocol.acls import WILDCARD, AclOperation, PatternType, PermissionType
from protocol.acls import ResourceType as AclResourceType
from protocol.configs import ResourceType

_WAIT_MS = 60_000
_PAUSE_MS = 50
_READ_MS = 500
_DEFAULT_TOPICS = {"create_topic": "new", "admin": None}
_TRANSACTIONAL = {"transaction", "process"}
_GROUPS = {"group", "rebalance", "process", "share"}
_ENTITIES = {"user": "user", "client_id": "client-id", "ip": "ip"}
_numbers = itertools.count(1)


class NotOnKafkaError(CommandError):
    """This Kafka can't be brought into the situation."""


class BrokerControl(Protocol):
    """Stops and starts brokers."""

    def stop_broker(self, broker: int, /) -> None:
        """Shut a broker down, so that it hands over its leaders."""

    def start_broker(self, broker: int, /) -> None:
        """Start it again, with its data."""


def with_own_names(situation: Situation) -> Situation:
    """Return the situation with names of topics, groups and transactional ids that are new.

    An experiment never touches what else the cluster has, and not what another one has left.
    Access control lists are about these names.
    """
    suffix = f"{uuid4().hex[:8]}-{next(_numbers)}"

    def own(name: str) -> str:
        return f"{name}-{suffix}"

    arguments = dict(situation.arguments)
    topic = arguments.get("topic", _DEFAULT_TOPICS.get(situation.workload, "orders"))
    if topic is not None:
        arguments["topic"] = own(topic)
    if situation.workload == "process":
        arguments["output"] = own(arguments.get("output", "invoices"))
    if situation.workload == "create_topic":
        arguments["after_topic"] = own("after")
    if situation.workload in _GROUPS or "group" in arguments:
        arguments["group"] = own(arguments.get("group", GROUP))
    if situation.workload in _TRANSACTIONAL:
        arguments["transactional_id"] = own(arguments.get("transactional_id", "payments"))
    topics = situation.topics
    if situation.on_kafka is not None:
        topics = {**topics, **situation.on_kafka.topics}
    return replace(
        situation,
        arguments=arguments,
        topics={own(name): topic for name, topic in topics.items()},
        records={own(name): count for name, count in situation.records.items()},
        acls=tuple(
            replace(
                rule,
                **{kind: own(name) for kind, name in rule.resource.items() if name != WILDCARD},
            )
            for rule in situation.acls
        ),
    )


class KafkaTarget:
    """A Kafka whose clients may do everything without authentication."""

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        sasl_servers: str | None = None,
        control: BrokerControl | None = None,
    ) -> None:
        """Connect to nothing yet.

        Args:
            bootstrap_servers: `HOST:PORT`, comma-separated, of a listener without SASL.
            sasl_servers: of a listener with SASL, for situations with `security`.
            control: stops and starts brokers, for situations in which one is down.
        """
        self.bootstrap_servers = bootstrap_servers
        self.sasl_servers = sasl_servers
        self.control = control
        self._config: Mapping[str, str | None] | None = None

    def client_servers(self, situation: Situation) -> str:
        """Return the bootstrap servers of the client in a situation.

        Raises:
            NotOnKafkaError: it needs a listener with SASL, and there is none.
        """
        if "security" not in situation.arguments:
            return self.bootstrap_servers
        if self.sasl_servers is None:
            raise NotOnKafkaError(f"{situation.id} needs a listener with SASL")
        return self.sasl_servers

    def prepare(self, situation: Situation) -> None:
        """Create topics, write records, set quotas and rights, and stop a broker.

        Raises:
            NotOnKafkaError: the situation has no `on_kafka`, or this Kafka does not fit it.
            ApiError: Kafka refuses a topic, a quota or a right.
        """
        self._require(situation)
        with open_admin(self.bootstrap_servers) as admin:
            self._create_topics(admin, situation)
        for name, count in situation.records.items():
            partitions = situation.topics[name].partitions
            self.write(name, [(index % partitions, str(index)) for index in range(count)])
        if situation.workload == "admin" and "group" in situation.arguments:
            self._commit(situation.arguments["group"], next(iter(situation.topics)))
        if situation.workload == "share":
            read_from_the_start(self.bootstrap_servers, situation.arguments["group"])
        self._alter_quotas(situation, is_set=True)
        self._allow(situation)
        if situation.on_kafka is not None and situation.on_kafka.broker is not None:
            assert self.control is not None
            self.control.stop_broker(situation.on_kafka.broker)
            self._await_replicas(situation, situation.brokers - 1)

    def heal(self, situation: Situation) -> None:
        """Start the broker that was stopped."""
        if situation.on_kafka is not None and situation.on_kafka.broker is not None:
            assert self.control is not None
            self.control.start_broker(situation.on_kafka.broker)
            self._await_replicas(situation, situation.brokers)

    def write(self, topic: str, records: Iterable[tuple[int, str]]) -> None:
        """Write records, each a partition and a value."""
        producer = KafkaProducer(bootstrap_servers=self.bootstrap_servers, acks="all")
        try:
            for partition, value in records:
                sent = producer.send(topic, value.encode(), partition=partition)
                sent.get(timeout=_WAIT_MS / 1000)
        finally:
            producer.close()

    def look(self, group_id: str) -> Mapping[str, Any]:
        """Return the number of members of a group and its state, or nothing."""
        with open_admin(self.bootstrap_servers) as admin:
            found = admin.describe_groups([group_id])[group_id]
        if isinstance(found, ApiError):
            return {}
        return {"members": len(found.members), "state": found.state}

    def lift_quotas(self, situation: Situation) -> None:
        """Remove the quotas of the situation."""
        self._alter_quotas(situation, is_set=False)

    def log(
        self, topics: Iterable[str]
    ) -> tuple[tuple[StoredRecord, ...], Mapping[tuple[str, int], int]]:
        """Return the records of these topics, and the first offsets of logs that do not begin at 0.

        Records of aborted and of open transactions are those that only `read_uncommitted` shows.
        """
        places = self._partitions(topics)
        if not places:
            return (), {}
        committed, _, stable = self._read(places, "read_committed")
        everything, starts, _ = self._read(places, "read_uncommitted")
        records = []
        for (place, offset), value in sorted(everything.items()):
            transaction = None
            if (place, offset) not in committed:
                transaction = "aborted" if offset < stable[place] else "open"
            records.append(StoredRecord(place.topic, place.partition, offset, value, transaction))
        begun = {(place.topic, place.partition): at for place, at in starts.items() if at}
        return tuple(records), begun

    def clean(self, situation: Situation) -> None:
        """Delete what the experiment has left; a cluster that refuses it keeps it."""
        self.lift_quotas(situation)
        names = _names(situation)
        with open_admin(self.bootstrap_servers) as admin:
            admin.delete_topics(set(admin.list_topics()) & names)
            if situation.acls:
                admin.delete_acls(_bindings(situation))

    def _require(self, situation: Situation) -> None:
        given = situation.on_kafka
        if given is None:
            raise NotOnKafkaError(f"no real Kafka can be brought into {situation.id} (`on_kafka`)")
        if given.by == "kill" and self.control is None:
            raise NotOnKafkaError(f"{situation.id} stops a broker, which needs its process")
        with open_admin(self.bootstrap_servers) as admin:
            brokers = admin.describe_cluster().brokers
            if len(brokers) < situation.brokers:
                raise NotOnKafkaError(f"{situation.id} needs {situation.brokers} brokers")
            if self._config is None:
                resource = ConfigResource(ResourceType.BROKER, str(min(brokers)))
                described = admin.describe_configs([resource])[resource]
                if isinstance(described, ApiError):
                    raise described
                self._config = {entry.name: entry.value for entry in described}
        for name, value in given.config.items():
            needed = _text(value)
            # Brokers do not say the values of keys of plug-ins, such as those of an authorizer.
            if self._config.get(name) not in {None, needed}:
                raise NotOnKafkaError(f"{situation.id} needs a broker with {name}={needed}")

    def _create_topics(self, admin: Admin, situation: Situation) -> None:
        topics = [
            NewTopic(
                name,
                topic.partitions,
                situation.brokers,
                configs={key: _text(value) for key, value in topic.config.items()},
            )
            for name, topic in situation.topics.items()
        ]
        for error in admin.create_topics(topics).values():
            if error is not None:
                raise error
        self._await_replicas(situation, situation.brokers)

    def _await_replicas(self, situation: Situation, count: int) -> None:
        """Wait until all partitions have a leader, and so many replicas in sync."""
        names = list(situation.topics)
        deadline_ms = clock.now_ms() + _WAIT_MS
        while clock.now_ms() < deadline_ms:
            with open_admin(self.bootstrap_servers) as admin:
                found = admin.describe_topics(names).values()
            if all(
                isinstance(one, TopicDescription)
                and all(len(partition.isr_ids) == count for partition in one.partitions)
                and all(partition.leader_id >= 0 for partition in one.partitions)
                for one in found
            ):
                return
            clock.sleep_ms(_PAUSE_MS)
        raise NotOnKafkaError(f"{situation.id}: no {count} replicas in sync in {_WAIT_MS} ms")

    def _alter_quotas(self, situation: Situation, *, is_set: bool) -> None:
        changes = [
            QuotaChange(
                {_ENTITIES[key]: name for key, name in quota.items() if key in _ENTITIES},
                {
                    key: float(value) if is_set else None
                    for key, value in quota.items()
                    if key not in _ENTITIES
                },
            )
            for quota in situation.quotas
        ]
        if not changes:
            return
        with open_admin(self.bootstrap_servers) as admin:
            for error in admin.alter_client_quotas(changes):
                if error is not None:
                    raise error

    def _allow(self, situation: Situation) -> None:
        if not situation.acls:
            return
        with open_admin(self.bootstrap_servers) as admin:
            for error in admin.create_acls(_bindings(situation)):
                if error is not None:
                    raise error

    def _commit(self, group_id: str, topic: str) -> None:
        """Have a group without members, which has committed an offset."""
        consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap_servers, group_id=group_id, enable_auto_commit=False
        )
        try:
            consumer.assign([TopicPartition(topic, 0)])
            consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(0, "", -1)})
        finally:
            consumer.close()

    def _partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        with open_admin(self.bootstrap_servers) as admin:
            names = sorted(set(topics) & set(admin.list_topics()))
            described = admin.describe_topics(names)
        return [
            TopicPartition(name, partition.index)
            for name, topic in described.items()
            if isinstance(topic, TopicDescription)
            for partition in topic.partitions
        ]

    def _read(
        self, places: list[TopicPartition], isolation: str
    ) -> tuple[
        dict[tuple[TopicPartition, int], str | None],
        Mapping[TopicPartition, int],
        Mapping[TopicPartition, int],
    ]:
        """Return the values by place, the first offsets and the end offsets."""
        consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap_servers,
            isolation_level=isolation,
            enable_auto_commit=False,
        )
        found: dict[tuple[TopicPartition, int], str | None] = {}
        try:
            starts = cast("Mapping[TopicPartition, int]", consumer.beginning_offsets(places))
            ends = cast("Mapping[TopicPartition, int]", consumer.end_offsets(places))
            consumer.assign(places)
            for place in places:
                consumer.seek(place, starts[place])
            deadline_ms = clock.now_ms() + _WAIT_MS
            while any(consumer.position(place) < ends[place] for place in places):
                if clock.now_ms() > deadline_ms:
                    raise NotOnKafkaError(f"{places} can't be read in {_WAIT_MS} ms")
                for place, records in consumer.poll(timeout_ms=_READ_MS).items():
                    for record in records:
                        value = record.value
                        text = None if value is None else value.decode(errors="replace")
                        found[place, record.offset] = text
        finally:
            consumer.close()
        return found, starts, ends


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bindings(situation: Situation) -> list[AclBinding]:
    """Return the access control lists of a situation; each is the only filter that fits it."""
    return [
        AclBinding(
            ResourcePattern(AclResourceType[kind.upper()], name, PatternType.LITERAL),
            AccessControlEntry(
                f"User:{rule.principal}",
                WILDCARD,
                AclOperation[operation.upper()],
                PermissionType.ALLOW,
            ),
        )
        for rule in situation.acls
        for kind, name in rule.resource.items()
        for operation in rule.operations
    ]


def _names(situation: Situation) -> set[str]:
    """Return the topics that an experiment may have created."""
    arguments = situation.arguments
    given = {arguments.get(name) for name in ("topic", "output", "after_topic")}
    return {name for name in given if name is not None} | set(situation.topics)
