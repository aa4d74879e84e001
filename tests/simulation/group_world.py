"""Worlds with members of consumer groups (KIP-848) and of share groups (KIP-932).

Some consumer groups are mixed: members change between the classic protocol and KIP-848's while the
others go on. In some worlds transactional producers write what share groups read, of which some
read what is committed only.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from random import Random
from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.faults import FaultRule
from broker.groups.any_group import AnyGroup
from broker.groups.consumer.member import ConsumerMember as ConsumerGroupMember
from broker.groups.requests import CommitRequest
from broker.groups.streams.member import StreamsMember as StreamsGroupMember
from broker.request.context import RequestContext
from broker.routes import Handler
from broker.share_groups.share_state import SharePartitionKey
from client.resources import Address
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_body
from protocol.configs import ResourceType
from protocol.errors import ErrorCode
from protocol.records import stamp
from protocol.releases import Release
from simulation.network_conditions import NetworkConditions
from tests.batches import make_batch
from tests.simulation.consumer_member import ConsumerMember
from tests.simulation.coordinated_client import CoordinatedClient, MemberSettings
from tests.simulation.embedded_member import EmbeddedMember
from tests.simulation.group_checkers import check_groups
from tests.simulation.group_history import AppliedCommit, GroupHistory, LateCommit
from tests.simulation.ledger_writers import PARTITION_COUNT, LedgerWriters, transaction_ends
from tests.simulation.owning_member import OwningMember
from tests.simulation.share_history import AcknowledgeType, ShareHistory
from tests.simulation.share_member import ShareMember
from tests.simulation.share_watch import (
    finished_by_leader,
    finished_offset,
    note_lags_at_end,
    read_dead_letters,
    watch_lags,
    watch_loads,
)
from tests.simulation.transactional_client import LEDGER, OFFSETS
from tests.simulation.virtual_time import START_MS
from tests.simulation.world import CHAOS_MS, DATA_TOPICS, World

INTERNAL_TOPICS = ("__consumer_offsets", "__share_group_state")
LOCK_MS = 1_000
RELEASES: tuple[Release, ...] = ((4, 1), (4, 2), (4, 3), (4, 4), (4, 4))
COMMITS_BY_TOPIC_ID_SINCE: Release = (4, 2)
LATE_COMMITS_SINCE: Release = (4, 3)
RECORD_LIMITS_SINCE: Release = (4, 2)
RECORD_LIMIT_CHANCE = 0.5
RENEWALS_SINCE: Release = (4, 2)
RENEWAL_CHANCE = 0.4
DEAD_LETTERS_SINCE: Release = (4, 4)
DEAD_LETTERS = "dlq.sharers"
DEAD_LETTER_CHANCE = 0.8
PROTOCOLS: tuple[type[OwningMember], ...] = (ConsumerMember, EmbeddedMember)
FAULTY_APIS = {
    "ConsumerGroupHeartbeat": "COORDINATOR_LOAD_IN_PROGRESS",
    "OffsetCommit": "NOT_COORDINATOR",
    "OffsetFetch": "COORDINATOR_LOAD_IN_PROGRESS",
    "Fetch": "NOT_LEADER_OR_FOLLOWER",
    "ShareGroupHeartbeat": "NOT_COORDINATOR",
    "ShareFetch": "SHARE_SESSION_NOT_FOUND",
    "ShareAcknowledge": "INVALID_SHARE_SESSION_EPOCH",
    "JoinGroup": "COORDINATOR_LOAD_IN_PROGRESS",
    "SyncGroup": "NOT_COORDINATOR",
    "Heartbeat": "COORDINATOR_NOT_AVAILABLE",
}
READ_COMMITTED_CHANCE = 0.6
CHANGE_CHANCE = 0.5
"""How often a member of a mixed group comes back with the other protocol."""


class GroupWorld(World):
    """A world with up to two consumer groups and up to two share groups.

    Most have a few members each, three of a hundred have up to two hundred.
    """

    sasl_chance = 0
    mixed_chance = 0.4
    """How many of the consumer groups have members of both protocols."""
    crowded_chance = 0.03
    ledger_chance = 0.35
    consumer_class: type[OwningMember] = ConsumerMember
    faulty_apis: Mapping[str, str] = FAULTY_APIS
    """The APIs whose requests are lost, delayed or refused, with an error of each."""

    def __init__(self, seed: int, *arguments: object) -> None:
        """Create a world as `World` does."""
        random = Random(f"{seed} groups")
        self.is_crowded = random.random() < self.crowded_chance
        self.consumers: list[OwningMember] = []
        self.mixed_groups: dict[str, tuple[str, ...]] = {}
        """What all members of each mixed group subscribe to."""
        self.change_count = 0
        self.sharers: list[ShareMember] = []
        ledger = Random(f"{seed} ledger")
        self.writers: LedgerWriters | None = None
        if not self.is_crowded and ledger.random() < self.ledger_chance:
            self.writers = LedgerWriters(self, ledger)
        self.shared = ShareHistory(LOCK_MS, random.choice((2, 5)))
        self._leader_epochs: dict[tuple[str, int], int] = {}
        super().__init__(seed, *arguments)  # type: ignore[arg-type]

    def _network_conditions(self) -> NetworkConditions:
        conditions = super()._network_conditions()
        conditions.slow_ms_max = self.random.choice((400, 1_500))
        return conditions

    def _config(self) -> dict[str, str]:
        self.has_small_log = False
        random = self._random("config of groups")
        interval_ms = "1000" if self.is_crowded else str(random.choice((200, 350)))
        self.session_timeout_ms = 2_000 if self.is_crowded else random.choice((800, 1_500))
        config = {
            f"group.{kind}.{name}": value
            for kind in ("consumer", "share")
            for name, value in (
                ("min.heartbeat.interval.ms", "1"),
                ("heartbeat.interval.ms", interval_ms),
                ("min.session.timeout.ms", "1"),
                ("session.timeout.ms", str(self.session_timeout_ms)),
            )
        }
        newer = self._random("release of groups")
        self.release = newer.choice(RELEASES)
        for kind in ("consumer", "share"):
            config[f"group.{kind}.assignment.interval.ms"] = newer.choice(("0", "0", "300", "900"))
        return config | {
            "broker.api.versions": ".".join(map(str, self.release)),
            "cluster.features": f"share.version={self._share_version()}",
            "errors.deadletterqueue.auto.create.topics.enable": "true",
            "group.share.min.record.lock.duration.ms": "1000",
            "group.share.record.lock.duration.ms": str(LOCK_MS),
            "group.share.delivery.count.limit": str(self.shared.delivery_count_max),
            "group.min.session.timeout.ms": "1",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
            "offsets.topic.num.partitions": "2",
            "share.coordinator.state.topic.num.partitions": "2",
            "share.coordinator.snapshot.update.records.per.snapshot": "5",
            "group.share.partition.max.record.locks": "100",
        }

    def _share_version(self) -> int:
        """Return the level of the feature; from 2 on there are dead letter queues."""
        has_queues = self._random("dead letters").random() < DEAD_LETTER_CHANCE
        return 2 if has_queues and self.release >= DEAD_LETTERS_SINCE else 1

    def _make_topics(self) -> None:
        if self.is_crowded:
            # Requests that rest one after the other hold up so many members beyond their sessions.
            self.server.pauses.chance = 0.0
        cluster = self.server.cluster
        random = self._random("topics of groups")
        for name in DATA_TOPICS:
            count = random.randint(20, 60) if self.is_crowded else random.randint(1, 4)
            factor = random.randint(1, self.broker_count)
            cluster.create_topic(name, cluster.place(count, factor), {})
        if self.writers is not None:
            factor = min(2, self.broker_count)
            cluster.create_topic(LEDGER, cluster.place(PARTITION_COUNT, factor), {})
            cluster.create_topic(OFFSETS.topic, cluster.place(1, factor), {})
        if self.release >= DEAD_LETTERS_SINCE and self._random("queue").random() < 0.5:
            enabled = {"errors.deadletterqueue.group.enable": "true"}
            cluster.create_topic(DEAD_LETTERS, cluster.place(2, min(2, self.broker_count)), enabled)
        self.groups = GroupHistory(self.history, self.shared, self.session_timeout_ms)
        self.groups.takes_late_commits = self.release >= LATE_COMMITS_SINCE
        notify = cluster.on_leaders_change

        def note(now_ms: int) -> None:
            self._note_leaders(now_ms)
            if notify is not None:
                notify(now_ms)

        cluster.on_leaders_change = note
        self._note_leaders(START_MS)

    def data_topics(self) -> list[Topic]:
        """Return the topics that members read."""
        ledger = self.server.cluster.topics.get(LEDGER)
        return [*super().data_topics(), *(() if ledger is None else (ledger,))]

    def _note_leaders(self, now_ms: int) -> None:
        for topic in self.data_topics():
            for partition in topic.partitions:
                place = topic.name, partition.partition_index
                if self._leader_epochs.get(place) != partition.leader_epoch:
                    self._leader_epochs[place] = partition.leader_epoch
                    self.shared.leader_changes.setdefault(place, []).append(now_ms)

    def _watch_commit(
        self, handler: Handler, context: RequestContext, request: Any, cluster: Cluster
    ) -> Any:
        response = handler(context, request, cluster)
        message = response
        if isinstance(response, bytes):
            body = memoryview(response)
            message = decode_body(messages.OffsetCommitResponse, context.api_version, body)
        for topic, result in zip(request.topics, message.topics, strict=True):
            name = topic.name
            if not name:
                known = cluster.topics.get_by_id(topic.topic_id)
                name = "" if known is None else known.name
            for partition, outcome in zip(topic.partitions, result.partitions, strict=True):
                if outcome.error_code == ErrorCode.NONE:
                    self.groups.applied.append(
                        AppliedCommit(
                            request.group_id,
                            (name, partition.partition_index),
                            request.member_id,
                            request.generation_id_or_member_epoch,
                            partition.committed_offset,
                            self.schedule.time_ms,
                        )
                    )
        return response

    def _watch_late_commits(self) -> None:
        """Note which commits are taken that have not the epoch of their member."""
        table = self.server.cluster.groups.table
        accept = table._accept_commit

        def note(request: CommitRequest, *arguments: Any, **options: Any) -> ErrorCode:
            group = table.get(request.group_id)
            member = None if group is None else group.members.get(request.member_id)
            error_code = accept(request, *arguments, **options)
            if (
                error_code is ErrorCode.NONE
                and isinstance(member, ConsumerGroupMember | StreamsGroupMember)
                and request.generation_id < member.member_epoch
            ):
                self.groups.late_commits.append(
                    LateCommit(
                        request.group_id,
                        tuple((o.topic_name, o.partition_index) for o in request.offsets),
                        member.group_instance_id or member.member_id,
                        request.generation_id,
                        self.schedule.time_ms,
                    )
                )
            return error_code

        table._accept_commit = note  # type: ignore[method-assign]

    def _watch_lives(self) -> None:
        """Note when a group without members is replaced, though the request pauses after that."""
        groups = self.server.cluster.groups
        put = groups.table.put

        def note(group: AnyGroup, now_ms: int) -> None:
            before = groups.table.get(group.group_id)
            if before is not None and before is not group and not len(before.members):
                lives_ms = self.groups.lives.setdefault(group.group_id, [])
                lives_ms.append(self.schedule.time_ms)
            put(group, now_ms)

        groups.table.put = note  # type: ignore[method-assign]

    # Making ----------------------------------------------------------------------------------

    def _make_clients(self) -> None:
        random = self._random("members")
        for group in range(random.randint(0 if self.seed % 2 else 1, 2)):
            name = f"consumers{group}"
            mix = self._random(f"protocols of {name}")
            if mix.random() < self.mixed_chance:
                self.mixed_groups[name] = mix.choice((DATA_TOPICS, DATA_TOPICS[:1]))
            for _ in range(self._group_size(random)):
                self._make_consumer(name, random)
        for group in range(random.randint(1 if self.seed % 2 else 0, 2)):
            name = f"sharers{group}"
            self._configure_share_group(name)
            for _ in range(self._group_size(random)):
                self._make_sharer(name, random)
        self._watch_commits()

    def _watch_commits(self) -> None:
        self._watch(ApiKey.OFFSET_COMMIT, self._watch_commit)
        self._watch_lives()
        self._watch_late_commits()
        watch_loads(self.server.cluster, self.shared, self.server.clock.now_ms)
        watch_lags(self.server.cluster, self.shared)

    def _group_size(self, random: Random) -> int:
        if self.is_crowded:
            return random.choice((10, 40, 120))
        return random.choice((1, 2, 3, 3, 4))

    def _configure_share_group(self, group: str) -> None:
        cluster = self.server.cluster
        layer = {"share.auto.offset.reset": "earliest"}
        is_strict = self._random(f"isolation of {group}").random() < READ_COMMITTED_CHANCE
        if self.writers is not None and is_strict:
            layer["share.isolation.level"] = "read_committed"
            self.shared.reads_committed.add(group)
        if self.release >= DEAD_LETTERS_SINCE:
            layer |= self._queue_config(group)
        cluster.set_config(cluster.config.with_resource((ResourceType.GROUP, group), layer))

    def _queue_config(self, group: str) -> dict[str, str]:
        """Return what the configuration of a group says about its dead letter queue."""
        random = self._random(f"dead letters of {group}")
        if random.random() > DEAD_LETTER_CHANCE:
            return {}
        if self._share_version() > 1:
            self.shared.queued.add(group)
        config = {"errors.deadletterqueue.topic.name": DEAD_LETTERS}
        if random.random() < 0.5:
            self.shared.copying.add(group)
            config["errors.deadletterqueue.copy.record.enable"] = "true"
        return config

    def _settings(self, name: str, group: str, random: Random) -> MemberSettings:
        count = random.choice((1, 2, 2))
        topics = DATA_TOPICS if count == 2 else (random.choice(DATA_TOPICS),)
        is_static = random.random() < 0.25
        newest = 10 if self.release >= COMMITS_BY_TOPIC_ID_SINCE else 9
        return MemberSettings(
            name=name,
            user="reader",
            group=group,
            topics=topics,
            instance_id=f"instance-of-{name}" if is_static else None,
            session_timeout_ms=1_000,
            rebalance_timeout_ms=random.choice((1_000, 1_500)),
            says_hello=False,
            versions_max={
                ApiKey.FETCH: random.choice((12, 13, 18)),
                ApiKey.OFFSET_COMMIT: min(random.choice((9, 10)), newest),
                ApiKey.OFFSET_FETCH: min(random.choice((9, 10)), newest),
            },
            server_assignor=random.choice((None, None, "range", "uniform")),
            subscribes_by_regex=random.random() < 0.2,
            has_fetch_sessions=self._random(f"fetches of {name}").random() < 0.5,
        )

    def _make_consumer(self, group: str, random: Random) -> None:
        name = f"consumer{len(self.consumers)}"
        settings = self._settings(name, group, random)
        bootstrap = random.sample(self.bootstrap, len(self.bootstrap))
        member_class = self.consumer_class
        topics = self.mixed_groups.get(group)
        if topics is not None:
            settings = settings._replace(topics=topics)
            first = self._random(f"first protocol of {group}").choice((*PROTOCOLS, None))
            member_class = first or self._random(f"protocol of {name}").choice(PROTOCOLS)
        self.consumers.append(self._consumer(member_class, settings, bootstrap))

    def _consumer(
        self, member_class: type[OwningMember], settings: MemberSettings, bootstrap: list[Address]
    ) -> OwningMember:
        name = f"{settings.name} {self.change_count}" if self.change_count else settings.name
        random = self._random(name)
        return member_class(settings, self.network, self.history, bootstrap, random, self.groups)

    def _make_sharer(self, group: str, random: Random) -> None:
        name = f"sharer{len(self.sharers)}"
        settings = self._settings(name, group, random)
        if self.writers is not None:
            settings = settings._replace(topics=(*settings.topics, LEDGER))
        has_limit = self._random(f"record limit of {name}").random() < RECORD_LIMIT_CHANCE
        if has_limit and self.release >= RECORD_LIMITS_SINCE:
            settings = settings._replace(has_record_limit=True, says_hello=True)
        renews = self._random(f"renewals of {name}").random() < RENEWAL_CHANCE
        if renews and self.release >= RENEWALS_SINCE:
            settings = settings._replace(renews_locks=True, says_hello=True)
        if not settings.says_hello:
            oldest = dict.fromkeys((ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE), 1)
            settings = settings._replace(versions_max=settings.versions_max | oldest)
        self.sharers.append(
            ShareMember(
                settings,
                self.network,
                self.history,
                random.sample(self.bootstrap, len(self.bootstrap)),
                self._random(name),
                self.shared,
            )
        )

    # Running ---------------------------------------------------------------------------------

    def _plan_clients(self) -> None:
        random, schedule = self._random("plan of groups"), self.schedule
        members = [*self.consumers, *self.sharers]
        for member in members:
            at_ms = random.choice((0, random.randrange(CHAOS_MS // 2)))
            schedule.after(at_ms, member.start)
            if random.random() < 0.5:
                for _ in range(random.randint(1, 2)):
                    at_ms = random.randrange(CHAOS_MS)
                    schedule.after(at_ms, partial(self._disturb_member, member, random))
            if member.settings.group in self.mixed_groups:
                changes = self._random(f"change of {member.settings.name}")
                at_ms = changes.randrange(CHAOS_MS)
                schedule.after(at_ms, partial(self._disturb_member, member, changes))
        for _ in range(random.randint(3, 12)):
            topic = random.choice(DATA_TOPICS)
            count = random.choice((1, 1, 2, 5, 20))
            append = partial(self._append, topic, random.randrange(60), count)
            schedule.after(random.randrange(CHAOS_MS), append)
        if random.random() < 0.3:
            growth = self._random("new partitions")
            schedule.after(growth.randrange(CHAOS_MS), partial(self._add_partition, growth))
        for _ in range(random.choice((0, 0, 1, 2))):
            move = partial(self._move_clock, random.choice((50, 500, 1_000, 2_500)))
            schedule.after(random.randrange(CHAOS_MS), move)
        for _ in range(random.randint(0, 3)):
            schedule.after(random.randrange(CHAOS_MS), self._move_a_coordinator)
        self._add_faults(random)
        if self.writers is not None:
            self.writers.plan()

    def _plan(self) -> None:
        self.chaos._groups = sorted(
            {member.settings.group for member in (*self.consumers, *self.sharers)}
        )
        super()._plan()

    def _disturb_member(self, member: CoordinatedClient, random: Random) -> None:
        if isinstance(member, OwningMember) and member not in self.consumers:
            name = member.settings.name
            member = next(other for other in self.consumers if other.settings.name == name)
        if not member.is_running:
            return
        deed = random.choice(("leave", "crash", "hang", "hang"))
        if deed == "hang":
            member.hang(random.choice((300, 1_200, 2_000)))
            return
        if deed == "leave":
            member.leave()
        else:
            member.crash()
        start = member.start
        if isinstance(member, OwningMember) and member.settings.group in self.mixed_groups:
            start = partial(self._start_again, member)
        self.schedule.after(random.randrange(1, 1_500), start)

    def _start_again(self, member: OwningMember) -> None:
        """Start a member of a mixed group, with the same protocol or the other one."""
        if self._random(f"protocol at {self.schedule.time_ms}").random() < CHANGE_CHANCE:
            self.change_count += 1
            (other,) = (protocol for protocol in PROTOCOLS if not isinstance(member, protocol))
            self.trace(f"{member.settings.name} is a {other.__name__} now")
            changed = self._consumer(other, member.settings, self.bootstrap)
            self.consumers[self.consumers.index(member)] = member = changed
        member.start()

    def _append(self, topic_name: str, index: int, count: int) -> None:
        """Store a batch of records as a producer would, without one."""
        topic = self.server.cluster.topics.get(topic_name)
        assert topic is not None
        partition = topic.partitions[index % len(topic.partitions)]
        sent = make_batch(*[b"record"] * count)
        batch = stamp(sent, 0, len(sent), partition.log.log_end_offset, partition.leader_epoch)
        now_ms = self.server.clock.now_ms()
        partition.log.append(batch, count, partition.leader_epoch)
        self.server.cluster.appended(topic, partition, len(batch), now_ms)

    def _add_partition(self, random: Random) -> None:
        cluster = self.server.cluster
        topic = cluster.topics.get(random.choice(DATA_TOPICS))
        assert topic is not None
        if cluster.alive_broker_ids():
            cluster.add_partitions(topic, cluster.place(1, 1))
            self.trace(f"{topic.name} has {len(topic.partitions)} partitions now")

    def _move_clock(self, duration_ms: int) -> None:
        self.trace(f"the clock of the brokers moves by {duration_ms} ms")
        self.history.clock_shifts.append((self.schedule.time_ms, duration_ms))
        self.shared.clock_moves.append((self.schedule.time_ms, duration_ms))
        self.server.timer_driver.advance(duration_ms)

    def _move_a_coordinator(self) -> None:
        """Move or remove the leader of a partition that coordinators write to."""
        random = self._random(f"coordinator {self.schedule.time_ms}")
        deed = random.choice((self.chaos.move_leader, self.chaos.take_leader_away))
        deed(random.choice(INTERNAL_TOPICS))

    def _add_faults(self, random: Random) -> None:
        for api, error in self.faulty_apis.items():
            effects: list[dict[str, Any]] = [
                {"drop": "before_response"},
                {"drop": "before_handling"},
                {"delay_request_ms": 200, "jitter_ms": 200},
                {"delay_ms": 200, "jitter_ms": 200},
                {"error": error},
            ]
            for effect in random.sample(effects, random.choice((0, 0, 1, 2))):
                rule = {"api": api, **effect, "probability": 0.05, "seed": self.seed}
                self.server.dispatcher.faults.add(FaultRule.from_json(rule), START_MS)

    # The end ---------------------------------------------------------------------------------

    def _unsettled(self) -> str:
        for sharer in self.sharers:
            sharer.is_reliable = True
        if self.writers is not None and not self.writers.are_idle:
            return "a sharer waits for a transaction"
        for member in (*self.consumers, *self.sharers):
            if not (member.is_active and member.is_stable):
                return f"{member.settings.name} is not stable"
        for group in dict.fromkeys(member.settings.group for member in self.consumers):
            problem = self._unsettled_consumers(group)
            if problem:
                return problem
        for group in dict.fromkeys(member.settings.group for member in self.sharers):
            problem = self._unsettled_share_group(group)
            if problem:
                return problem
        return ""

    def _subscribed_places(self, members: list[Any]) -> dict[tuple[str, int], int]:
        """Return the ends of the partitions that some members subscribe to."""
        names = {name for member in members for name in member.settings.topics}
        return {
            (topic.name, partition.partition_index): partition.log.log_end_offset
            for topic in self.data_topics()
            if topic.name in names
            for partition in topic.partitions
        }

    def _unsettled_consumers(self, group: str) -> str:
        members = [member for member in self.consumers if member.settings.group == group]
        ends = self._subscribed_places(members)
        owned = sorted(place for member in members for place in member.owned)
        if owned != sorted(ends):
            return f"{group} owns {owned} of {sorted(ends)}"
        for member in members:
            for place in member.owned:
                if member.positions.get(place) != ends[place]:
                    return f"{group} has read {place} up to {member.positions.get(place)}"
        self.groups.ends |= {(group, place): end for place, end in ends.items()}
        return ""

    def _unsettled_share_group(self, group: str) -> str:
        members = [member for member in self.sharers if member.settings.group == group]
        ends = self._subscribed_places(members)
        for (name, index), end in ends.items():
            topic = self.server.cluster.topics.get(name)
            assert topic is not None
            key = SharePartitionKey(group, topic.topic_id, index)
            if end and max(self._finished_offsets(topic, key)) < end:
                return f"{group} has not finished {name}-{index} up to {end}"
        self.shared.ends |= {(group, place): end for place, end in ends.items()}
        return ""

    def _finished_offsets(self, topic: Topic, key: SharePartitionKey) -> Iterator[int]:
        """Yield up to where all records are finished, as the coordinator and the leader know.

        What a leader archives because a lock has expired may be missing in the state.
        """
        share = self.server.cluster.share
        yield 0
        state = share.states.get(key)
        if state is not None:
            yield finished_offset(state)
        leader = share.leaders.get(topic.partitions[key.partition_index].leader_id)
        led = None if leader is None else leader.partitions.get(key)
        if led is not None:
            yield finished_by_leader(led.share_partition)

    def _close(self) -> None:
        note_lags_at_end(self.server.cluster, self.shared)
        lost_fetches = self.shared.lost_fetches.copy()
        for member in (*self.consumers, *self.sharers):
            if member.is_running:
                member.crash()
        if self.writers is not None:
            self.writers.close()
        super()._close()
        self.shared.lost_fetches = lost_fetches

    def _read_logs(self) -> None:
        """Read how transactions ended; there are no producers whose records would be compared."""
        for topic in self.data_topics():
            for partition in topic.partitions:
                place = topic.name, partition.partition_index
                self.shared.transaction_ends |= transaction_ends(place, partition.log.rewind())
        queue = self.server.cluster.topics.get(DEAD_LETTERS)
        if queue is not None:
            read_dead_letters(self.server.cluster, queue, self.shared)

    def _note_unsettled(self, text: str) -> None:
        by_checker = self.shared if "sharer" in text else self.groups
        by_checker.unsettled.append(text)

    def _check(self) -> list[str]:
        return check_groups(self.groups)

    def _counts(self) -> dict[str, int]:
        return {
            "members": len(self.consumers) + len(self.sharers),
            "changes of protocol": self.change_count,
            "links": len(self.network.links),
            "assignments": len(self.history.assignments),
            "commits": len(self.groups.applied),
            "late commits": len(self.groups.late_commits),
            "consumed": sum(map(len, self.groups.consumed.values())),
            "records of transactions": len(self.shared.transaction_ends),
            "deliveries": len(self.shared.deliveries),
            "acknowledgements": len(self.shared.acknowledgements),
            "dead letters": len(self.shared.dead_letters),
            "renewals": sum(
                acknowledgement.type is AcknowledgeType.RENEW
                for acknowledgement in self.shared.acknowledgements
            ),
            "refused acknowledgements": sum(
                acknowledgement.is_refused for acknowledgement in self.shared.acknowledgements
            ),
        }
