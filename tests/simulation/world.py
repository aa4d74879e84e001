"""One seeded world: create it, run it with faults, let it settle, read all logs and check it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

from broker.audit.comparison import FindingKind, audit_cluster
from broker.cluster.topics import Topic
from broker.config.broker_config import BrokerConfig
from broker.dispatch.connection import Connection
from broker.faults import FaultRule
from client.producer.settings import ProducerSettings
from client.protocol_codec import ProtocolCodec
from client.resources import Address
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.records import read_header, read_records
from quotas.entities import make_entity
from simulation.network import Network
from simulation.network_conditions import NetworkConditions
from simulation.socketless_server import PORT
from tests.simulation.admin_client import AdminClient
from tests.simulation.broker_checkers import WINDOW_SECONDS
from tests.simulation.brokers import SimulatedServer, make_server
from tests.simulation.chaos import Chaos
from tests.simulation.checkers import check
from tests.simulation.client_link import OTHER_USER, known_versions, password_of
from tests.simulation.cluster_watch import ClusterWatch
from tests.simulation.coordinated_client import MemberSettings
from tests.simulation.disturbances import Disturbances
from tests.simulation.fetch_session import fetch_request
from tests.simulation.group_member import GroupMember, split_batches
from tests.simulation.history import (
    ConfigSeen,
    History,
    Place,
    QuotaChange,
    SeenRecord,
    StoredBatch,
)
from tests.simulation.library_producer import LIBRARIES, LIBRARY_USER, LibraryProducer
from tests.simulation.pauses import Pauses
from tests.simulation.producer_client import PipeliningProducerClient, ProducerClient
from tests.simulation.virtual_time import START_MS, Schedule

CHAOS_MS = 3_500
HEALING_MS_MAX = 30_000
STEP_MS = 250
LAST_END_CHANCE = 0.35
CALM_AFTER_MS = 1_500
"""After this time all requests that a fault delays have their responses."""
CALM_CHANCE = 0.4
CALM_SENDS_MS = (200, 500)
CALM_PAUSES_MS = 300
"""How long the requests may pause that have to do with one record that is fetched."""
LOG_BYTES_SMALL = 6_000
PIPELINING_CHANCE = 0.4
LIBRARY_CHANCE = 0.35
BUFFERED_BYTES_MAX = 2 * 1024 * 1024
DATA_TOPICS = ("orders", "payments")
USERS = (LIBRARY_USER, "writer", "reader", "root", "mutator", "cleaner", "rival", OTHER_USER)
DOOMED_TOPIC = "doomed"


@dataclass(slots=True)
class Report:
    """The result of one world."""

    seed: int
    violations: list[str]
    digest: str
    virtual_ms: int
    event_count: int
    counts: dict[str, int] = field(default_factory=dict)


def silent(_line: str) -> None:
    """Discard the trace."""


class World:
    """Everything that one seed determines."""

    member_class: type[GroupMember] = GroupMember
    sasl_chance = 0.15
    pauses_class: type[Pauses] = Pauses

    def __init__(self, seed: int, trace: Callable[[str], None] = silent) -> None:
        """Create a world; `trace` gets a line for each event."""
        self.seed = seed
        self.schedule = Schedule()
        self._trace_line = trace
        self.history = History()
        self.random = self._random("world")
        self.network = Network(
            self.schedule,
            self._random("network"),
            self._network_conditions(),
            self.trace,
            is_traced=trace is not silent,
        )
        self.broker_count = self.random.choice((1, 2, 3, 3, 3, 5))
        self.has_small_log = self.random.random() < 0.1
        sasl = self._random("SASL")
        self.has_sasl = sasl.random() < self.sasl_chance
        self._session_ms = sasl.choice((1_200, 2_500)) if self.has_sasl else 0
        self.config = self._config()
        self.history.has_retention = self.has_small_log
        self.server: SimulatedServer = make_server(
            self.schedule,
            self._random("broker"),
            self.broker_count,
            self.config,
            self._report_error,
            self.trace,
            self.pauses_class(self._random("pauses"), self._random("places of pauses")),
        )
        self.network.accept = self.server.accept
        self.server.has_sasl = self.network.has_sasl = self.has_sasl
        self.cluster_watch = ClusterWatch(
            self.server.cluster, self.schedule, self.history, self.server.clock.now_ms
        )
        self.server.on_availability = self.cluster_watch.note_availability
        self.bootstrap = [
            Address(f"broker-{node_id}", PORT) for node_id in self.server.cluster.brokers
        ]
        self._is_settled_from_ms = 0
        self.producers: list[ProducerClient] = []
        self.libraries: list[LibraryProducer] = []
        self.members: list[GroupMember] = []
        self.admins: list[AdminClient] = []
        self.history.elects_unclean = self._random("unclean elections").random() < 0.2
        self._make_topics()
        self._make_clients()
        self.chaos = Chaos(
            self.server,
            self.network,
            self._random("chaos"),
            sorted({member.settings.group for member in self.members}),
        )
        self.disturbances = Disturbances(self, self._random("disturbances"), CHAOS_MS)

    def trace(self, line: str) -> None:
        """Trace an event with its time."""
        if self._trace_line is not silent:
            self._trace_line(f"{self.schedule.time_ms - START_MS:7d} ms  {line}")

    def _random(self, name: str) -> Random:
        # A text as the seed is hashed with SHA-512, independent of PYTHONHASHSEED.
        return Random(f"{self.seed} {name}")

    def _report_error(self, text: str) -> None:
        self.trace(text)
        self.history.internal_errors.append(text)

    # Making ----------------------------------------------------------------------------------

    def _network_conditions(self) -> NetworkConditions:
        random = self.random
        conditions = NetworkConditions(delay_ms_max=random.choice((0, 2, 10, 40)))
        if random.random() < 0.8:
            conditions.slow_chance = random.choice((0.0, 0.02, 0.1))
            conditions.split_chance = random.choice((0.0, 0.1, 0.5))
            conditions.cut_chance = random.choice((0.0, 0.005, 0.02))
            conditions.half_open_chance = random.choice((0.0, 0.3))
            conditions.refuse_chance = random.choice((0.0, 0.1))
            conditions.black_hole_chance = random.choice((0.0, 0.05))
            conditions.reset_chance = random.random()
            conditions.unread_bytes_max = random.choice((65_536, 65_536, 64))
        return conditions

    def _config(self) -> dict[str, str]:
        random = self.random
        config = {
            "group.min.session.timeout.ms": "100",
            "group.initial.rebalance.delay.ms": str(random.choice((0, 0, 200))),
            "producer.state.batches": str(random.choice((1, 5))),
            "max.in.flight.sequence.number.per.connection": str(
                random.choice((8, 100, 10_000_000))
            ),
            "producer.id.quota.window.size.seconds": str(WINDOW_SECONDS),
            "quota.window.num": "3",
            "audit.enable": "true",
        }
        if self.has_small_log:
            config["log.memory.max.bytes"] = str(LOG_BYTES_SMALL)
        if random.random() < 0.2:
            config["log.message.timestamp.type"] = "LogAppendTime"
        if self.has_sasl:
            config["connections.max.reauth.ms"] = str(self._session_ms)
            config["sasl.users"] = ",".join(f"{user}:{password_of(user)}" for user in USERS)
        return config

    def _make_topics(self) -> None:
        cluster = self.server.cluster
        for name in (*DATA_TOPICS, DOOMED_TOPIC):
            count = self.random.randint(1, 3)
            factor = self.random.randint(1, self.broker_count)
            in_sync_min = self._random(f"{name} in sync").choice((1, 2, 2))
            overrides = {"min.insync.replicas": str(in_sync_min)}
            if self.history.elects_unclean:
                overrides["unclean.leader.election.enable"] = "true"
            if self.server.pauses.is_active:
                # So the records of a batch are read, which may pause.
                overrides["message.timestamp.before.max.ms"] = str(START_MS)
            cluster.create_topic(name, cluster.place(count, factor), overrides)

    def _watch(self, api_key: ApiKey, watch: Callable[..., Any]) -> None:
        """Let `watch(handler, context, request, cluster)` handle the requests of an API."""
        cluster = self.server.cluster

        def apply() -> None:
            for node_id in cluster.brokers:
                route = cluster.routes[node_id].get(api_key)
                if route is not None:
                    handler = partial(watch, route.handler)
                    cluster.routes[node_id] = {
                        **cluster.routes[node_id],
                        api_key: replace(route, handler=handler),
                    }

        def set_config(config: BrokerConfig, before: Callable[..., None]) -> None:
            before(config)
            apply()

        apply()
        # A changed configuration makes new routes.
        cluster.set_config = partial(set_config, before=cluster.set_config)  # type: ignore[method-assign]

    def _make_clients(self) -> None:
        random = self.random
        for number in range(random.randint(1, 4)):
            self.producers.append(self._make_producer(f"producer{number}"))
        self._make_libraries()
        for number in range(random.randint(0, 4)):
            self.members.append(self._make_member(f"member{number}", number % 2))
        for name in ("root", "mutator"):
            self.admins.append(
                AdminClient(
                    name, name, self.network, self.history, self._random(name), self.bootstrap
                )
            )
        self._set_quota("mutator", "controller_mutation_rate", random.choice((0.5, 1, 3)))
        if random.random() < 0.3:
            self._set_quota("writer", "producer_byte_rate", random.choice((200, 1_000, 10_000)))
        if random.random() < 0.2:
            self._set_quota("reader", "consumer_byte_rate", random.choice((5_000, 20_000)))
        if random.random() < 0.3:
            self._set_quota("writer", "producer_ids_rate", random.choice((1, 2, 3)))
        if random.random() < 0.1:
            self._set_quota("writer", "request_percentage", 5)

    def _make_libraries(self) -> None:
        random = self._random("libraries")
        if random.random() < LIBRARY_CHANCE:
            if random.random() < 0.3:
                # No quota of bytes: some libraries retry without end.
                self._set_quota(LIBRARY_USER, "producer_ids_rate", random.choice((1, 2)))
            for library in random.sample(LIBRARIES, random.randint(1, 2)):
                self.libraries.append(
                    LibraryProducer(
                        library.name, library, self.network, self.history, random, self.bootstrap
                    )
                )

    def _set_quota(self, user: str, key: str, value: float) -> None:
        entity = make_entity([("user", user)])
        assert self.server.cluster.quotas.clients.alter(entity, [(key, value)]) is None
        self.history.quota_changes.append(QuotaChange(user, key, value, START_MS))

    def _make_producer(self, name: str) -> ProducerClient:
        random = self.random
        is_idempotent = random.random() < 0.8
        settings = ProducerSettings(
            acks=-1 if is_idempotent else random.choice((-1, 1, 1, 0)),
            enable_idempotence=is_idempotent,
            batch_size=random.choice((1, 200, 16_384)),
            # Not gzip, because its header has the real time.
            compression_type=random.choice(("none", "none", "none", "lz4", "snappy")),
            linger_ms=random.choice((0, 0, 5, 50)),
            request_timeout_ms=random.choice((150, 400)),
            delivery_timeout_ms=random.choice((600, 1_500, 4_000)),
            connection_setup_timeout_ms=300,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=200,
            retry_backoff_ms=random.choice((1, 20, 100)),
            retry_backoff_max_ms=300,
            retries=random.choice((2**31 - 1, 2**31 - 1, 1)),
            metadata_max_age_ms=random.choice((500, 300_000)),
            max_in_flight_requests_per_connection=random.choice((None, None, 1, 2, 5)),
        )
        producer_class = ProducerClient
        if self._random(f"{name} pipelines").random() < PIPELINING_CHANCE:
            settings = replace(settings, batch_size=1, max_in_flight_requests_per_connection=5)
            producer_class = PipeliningProducerClient
            self._refuse_some_batches(name)
        return producer_class(
            name,
            "writer",
            settings,
            self.network,
            self.history,
            self._random(name),
            random.sample(self.bootstrap, len(self.bootstrap)),
            {
                ApiKey.PRODUCE: random.choice((3, 8, 9, 12, 13)),
                ApiKey.METADATA: random.choice((9, 12)),
                ApiKey.INIT_PRODUCER_ID: random.choice((1, 4, 5)),
            },
        )

    def _refuse_some_batches(self, client_id: str) -> None:
        """Refuse some Produce requests of a client while later ones are in flight."""
        rule = {
            "api": "Produce",
            "client_id": client_id,
            "error": "NOT_ENOUGH_REPLICAS",
            "probability": 0.2,
            "seed": self.seed,
        }
        self.server.dispatcher.faults.add(FaultRule.from_json(rule), START_MS)

    def _make_member(self, name: str, group: int) -> GroupMember:
        random = self.random
        settings = MemberSettings(
            name=name,
            user="reader",
            group=f"group{group}",
            topics=DATA_TOPICS,
            instance_id=f"instance-of-{name}" if random.random() < 0.25 else None,
            session_timeout_ms=random.choice((1_000, 2_000)),
            rebalance_timeout_ms=random.choice((1_000, 1_500)),
            says_hello=random.random() < 0.1,
            has_fetch_sessions=self._random(f"fetches of {name}").random() < 0.5,
            versions_max={
                ApiKey.FETCH: random.choice((11, 12, 13, 18)),
                ApiKey.METADATA: random.choice((10, 12)),
                ApiKey.JOIN_GROUP: random.choice((5, 6, 9)),
                ApiKey.OFFSET_COMMIT: random.choice((7, 8, 10)),
                ApiKey.OFFSET_FETCH: random.choice((8, 10)),
            },
        )
        return self.member_class(
            settings,
            self.network,
            self.history,
            random.sample(self.bootstrap, len(self.bootstrap)),
        )

    # Running ---------------------------------------------------------------------------------

    def run(self) -> Report:
        """Run the world and check it."""
        with self.server.pauses.in_short_requests():
            self._live()
        report = audit_cluster(self.server.cluster, self.server.dispatcher.acknowledgements)
        for finding in report.comparison.findings:
            if finding.kind is FindingKind.LOST_BY_ELECTION:
                self.history.lost_by_elections.append(finding)
            elif (
                finding.kind is not FindingKind.OFFSET_BEYOND_LOG_END
                or not self.history.elects_unclean
            ):
                self.history.audit.append(str(finding))
        violations = self._check()
        for violation in violations:
            self.trace(f"VIOLATION {violation}")
        self.server.dispatcher.turns.close()
        return Report(
            self.seed,
            violations,
            self.network.digest,
            self.schedule.time_ms - START_MS,
            self.schedule.event_count,
            self._counts(),
        )

    def _live(self) -> None:
        """Let all happen that happens in this world, and read the logs at its end."""
        self._plan()
        self.schedule.run_until(START_MS + CHAOS_MS)
        self.trace("the world heals")
        self.network.conditions.clear()
        self.server.pauses.be_short()
        self.chaos.heal()
        self._be_calm()
        until_ms = self.schedule.time_ms + HEALING_MS_MAX
        while self.schedule.time_ms < until_ms and not self._is_settled():
            self.schedule.run_until(self.schedule.time_ms + STEP_MS)
            self._watch_memory()
        if not self._is_settled():
            self._note_unsettled(f"not settled after healing: {self._unsettled()}")
        self._close()
        with self.server.pauses.suspended():
            self._read_logs()

    def _note_unsettled(self, text: str) -> None:
        self.history.internal_errors.append(text)

    def _check(self) -> list[str]:
        return check(self.history)

    def _be_calm(self) -> None:
        """In some worlds let a member end, and send records to members whose fetches wait."""
        random = self._random("last of a group")
        if self.members and random.random() < LAST_END_CHANCE:
            member = random.choice(self.members)
            self.schedule.after(random.randrange(STEP_MS), partial(self._end_for_good, member))
        is_possible = self.producers and not self.history.quota_changes_of("reader")
        if not is_possible or self._random("calm").random() > CALM_CHANCE:
            return
        self.history.calm_from_ms = self.schedule.time_ms + CALM_AFTER_MS
        pauses_ms = CALM_PAUSES_MS if self.server.pauses.is_active else 0
        self.history.calm_delay_ms = 2 * self.network.conditions.delay_ms_max + pauses_ms
        for delay_ms in CALM_SENDS_MS:
            self.schedule.after(CALM_AFTER_MS + delay_ms, partial(self._send, self.producers[0]))
        self._is_settled_from_ms = self.history.calm_from_ms + CALM_SENDS_MS[-1] + STEP_MS

    def _plan(self) -> None:
        """Schedule the actions of all clients and the chaos."""
        self._plan_clients()
        random, schedule = self.random, self.schedule
        for _ in range(random.randint(0, 6)):
            schedule.after(random.randrange(CHAOS_MS), self.chaos.do_something)
        for at_ms in range(0, CHAOS_MS, STEP_MS):
            schedule.after(at_ms, self._watch_memory)

    def _plan_clients(self) -> None:
        random, schedule = self.random, self.schedule
        self.disturbances.plan()
        for producer in self.producers:
            for _ in range(random.randint(3, 10)):
                schedule.after(random.randrange(CHAOS_MS), partial(self._send, producer))
        library_random = self._random("sends of libraries")
        for library in self.libraries:
            for _ in range(library_random.randint(3, 8)):
                send = partial(self._send_by_library, library, library_random)
                schedule.after(library_random.randrange(CHAOS_MS), send)
        for member in self.members:
            schedule.after(random.randrange(CHAOS_MS // 4), member.start)
            if random.random() < 0.5:
                schedule.after(random.randrange(CHAOS_MS), partial(self._disturb, member))
        root, mutator = self.admins
        for _ in range(random.randint(0, 12)):
            schedule.after(random.randrange(CHAOS_MS), mutator.churn)
        for _ in range(random.randint(0, 2)):
            schedule.after(random.randrange(CHAOS_MS), lambda: self._grow(root))
        if random.random() < 0.3:
            schedule.after(random.randrange(CHAOS_MS), self._delete_doomed)
        if random.random() < 0.3:
            schedule.after(random.randrange(CHAOS_MS), lambda: self._alter_some_quota(root))

    def _send(self, producer: ProducerClient) -> None:
        random = self.random
        topic = random.choice((*DATA_TOPICS, *DATA_TOPICS, DOOMED_TOPIC))
        known = self.server.cluster.topics.get(topic)
        count = len(known.partitions) if known is not None else 1
        for _ in range(random.randint(1, 2)):
            producer.send((topic, random.randrange(count)), random.choice((1, 1, 2, 3, 4, 12)))

    def _send_by_library(self, library: LibraryProducer, random: Random) -> None:
        topic = random.choice(self.data_topics())
        partition = random.choice(topic.partitions)
        place = topic.name, partition.partition_index
        library.send(place, random.choice((1, 2, 5, 12)))

    def _disturb(self, member: GroupMember) -> None:
        if not member.is_running:
            return
        if self.random.random() < 0.5:
            member.leave()
        else:
            member.crash()
        if self._random(f"end of {member.settings.name}").random() < 0.4:
            member.is_gone = True
        else:
            self.schedule.after(self.random.randrange(1, 1_500), member.start)

    def _end_for_good(self, member: GroupMember) -> None:
        if member.is_running:
            member.is_gone = True
            if self.random.random() < 0.7:
                member.leave()
            else:
                member.crash()

    def _grow(self, root: AdminClient) -> None:
        topic = self.server.cluster.topics.get(self.random.choice(DATA_TOPICS))
        assert topic is not None
        root.grow(topic.name, len(topic.partitions) + 1)

    def _delete_doomed(self) -> None:
        self.history.deleted_topics.add(DOOMED_TOPIC)
        topic = self.server.cluster.topics.get(DOOMED_TOPIC)
        if topic is not None:
            self.trace(f"{DOOMED_TOPIC} is deleted")
            self.server.cluster.delete_topic(topic, self.server.clock.now_ms())

    def _alter_some_quota(self, root: AdminClient) -> None:
        key, values = self.random.choice(
            (
                ("producer_byte_rate", (1_000, 100_000, None)),
                ("controller_mutation_rate", (1, 5)),
                ("producer_ids_rate", (None,)),
            )
        )
        user = "mutator" if key == "controller_mutation_rate" else "writer"
        root.alter_quota(user, key, self.random.choice(values))

    # The end ---------------------------------------------------------------------------------

    def _unsettled(self) -> str:
        """Return why the world is not settled, or an empty text."""
        if self.schedule.time_ms < self._is_settled_from_ms:
            return "clients still work"
        producers: list[ProducerClient | LibraryProducer] = [*self.producers, *self.libraries]
        for producer in producers:
            if producer.unresolved_count:
                return f"{producer.name} has {producer.unresolved_count} records without an outcome"
        for group in {member.settings.group: None for member in self.members}:
            problem = self._unsettled_group(group)
            if problem:
                return problem
        return ""

    def _is_settled(self) -> bool:
        return not self._unsettled()

    def _unsettled_group(self, group: str) -> str:
        members = [
            member
            for member in self.members
            if member.settings.group == group and not member.is_gone
        ]
        described = self.server.cluster.groups.describe(group)
        known = len(described.members) if described is not None else 0
        if known != len(members):
            return f"{group} has {known} members at its coordinator, of which {len(members)} run"
        if not members:
            return ""
        if not all(member.is_running and member.is_stable for member in members):
            return f"{group} has members that are not stable"
        owned = sorted(place for member in members for place in member.owned)
        places = sorted(
            (topic.name, partition.partition_index)
            for topic in self.data_topics()
            for partition in topic.partitions
        )
        if owned != places:
            return f"{group} owns {owned} of {places}"
        for topic in self.data_topics():
            for partition in topic.partitions:
                place = topic.name, partition.partition_index
                end = partition.log.log_end_offset
                positions = [
                    member.positions.get(place) for member in members if place in member.owned
                ]
                if positions != [end]:
                    return f"{group} has read {place} up to {positions} of {end}"
        return ""

    def data_topics(self) -> list[Topic]:
        """Return the topics that members read."""
        topics = self.server.cluster.topics
        return [topic for name in DATA_TOPICS if (topic := topics.get(name)) is not None]

    def _watch_memory(self) -> None:
        self.cluster_watch.check()
        cluster = self.server.cluster
        actual = sum(
            partition.log.size_bytes
            for topic in cluster.topics.all()
            if not topic.is_internal
            for partition in topic.partitions
        )
        if cluster.log_bytes != actual:
            self.history.memory.append(f"log_bytes says {cluster.log_bytes}, logs have {actual}")
        if self.has_small_log and actual > LOG_BYTES_SMALL:
            self.history.memory.append(f"logs have {actual} bytes of {LOG_BYTES_SMALL}")
        for protocol in self.server.protocols:
            connection = protocol.connection
            if connection is not None and connection.buffered_bytes > BUFFERED_BYTES_MAX:
                self.history.memory.append(f"{protocol.peer}: {connection.buffered_bytes} bytes")

    def _close(self) -> None:
        """Close all clients; no state of them may remain."""
        for producer in self.producers:
            if producer.unresolved_count == 0 and producer.core.bytes_reserved:
                self._wait_for_responses(producer)
            producer.close()
        for member in self.members:
            if member.is_running:
                member.crash()
        for library in self.libraries:
            library.close()
        for admin in self.admins:
            admin.close()
        self.disturbances.close()
        self.network.close_half_open()
        self.schedule.run_until(self.schedule.time_ms + STEP_MS)
        if left := self.server.protocols:
            self.history.memory.append(f"{len(left)} connections are left over")
        for topic in self.server.cluster.topics.all():
            for partition in topic.partitions:
                if partition.log.waiters:
                    self.history.memory.append(f"{topic.name}: fetches wait for nobody")

    def _wait_for_responses(self, producer: ProducerClient) -> None:
        """Wait for requests in flight after all records have an outcome."""
        until_ms = self.schedule.time_ms + HEALING_MS_MAX // 10
        while producer.core.bytes_reserved and self.schedule.time_ms < until_ms:
            self.schedule.run_until(self.schedule.time_ms + STEP_MS)
        if producer.core.bytes_reserved:
            self.history.memory.append(
                f"{producer.name} keeps {producer.core.bytes_reserved} bytes for nothing"
            )

    def _read_logs(self) -> None:
        for topic in self.server.cluster.topics.all():
            if topic.name in (*DATA_TOPICS, DOOMED_TOPIC):
                self.note_config(topic)
                for partition in topic.partitions:
                    place = topic.name, partition.partition_index
                    self.history.log_starts[place] = partition.log.log_start_offset
                    self.history.cuts[place] = partition.log.cuts
                    self.history.log[place] = self._read_log(
                        place, partition.leader_id, partition.log.log_start_offset, topic.topic_id
                    )

    def _read_log(self, place: Place, node_id: int, start: int, topic_id: UUID) -> list[SeenRecord]:
        """Return all records of a partition by Fetch, without the network."""
        wire = ProtocolCodec("reader")
        wire.on_api_versions(known_versions())
        connection = Connection(
            self.server.dispatcher,
            broker_id=node_id,
            connection_id=0,
            client_host="",
            frame_bytes_max=1 << 20,
            on_ready=lambda: None,
        )
        records: list[SeenRecord] = []
        offset = start
        while True:
            request = fetch_request({place: (-1, offset)}, {place[0]: topic_id}, 0)
            effects = connection.receive(wire.request(request), self.server.clock.now_ms())
            wire.feed(effects.write)
            response = wire.next_response()
            assert isinstance(response, messages.FetchResponse), "nothing keeps this reader waiting"
            (result,) = response.responses[0].partitions
            if result.error_code != ErrorCode.NONE:
                self.history.internal_errors.append(f"{place}: final read: {response}")
            if result.error_code != ErrorCode.NONE or not result.records:
                return records
            for batch in split_batches(bytes(result.records)):
                self._note_batch(place, batch)
                for read_record in read_records(batch):
                    records.append(
                        SeenRecord(
                            read_record.offset,
                            read_record.timestamp,
                            bytes(read_record.value or b""),
                        )
                    )
                    offset = read_record.offset + 1

    def note_config(self, topic: Topic) -> None:
        """Note what the configuration of a topic is now."""
        self.history.configs.append(
            ConfigSeen(topic.name, dict(topic.config.overrides), self.schedule.time_ms)
        )

    def _note_batch(self, place: Place, batch: bytes) -> None:
        header = read_header(batch, 0)
        self.history.batches.setdefault(place, []).append(
            StoredBatch(
                header.base_offset,
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.records_count,
            )
        )

    def _counts(self) -> dict[str, int]:
        history = self.history
        delivered = sum(record.delivered is not None for record in history.sent)
        return {
            "records": len(history.sent),
            "delivered": delivered,
            "failed": len(history.sent) - delivered,
            "consumed": sum(map(len, history.seen.values())),
            "links": len(self.network.links),
            "pauses": self.server.pauses.count,
            "assignments": len(history.assignments),
            "commits": len(history.commits),
            "mutations": sum(mutation.is_admitted for mutation in history.mutations),
            "refused mutations": sum(not mutation.is_admitted for mutation in history.mutations),
            "throttles": len(history.throttles),
            "refused producer ids": sum(
                produced.is_refused_by_quota for produced in history.produced
            ),
        }
