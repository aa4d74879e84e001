"""Worlds with members of streams groups (KIP-1071)."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from random import Random

from broker.cluster.topics import Topic
from broker.groups.streams.request_checks import STATIC_MEMBERS_SINCE
from protocol.api_keys import ApiKey
from protocol.configs import ResourceType
from protocol.releases import Release
from tests.simulation.coordinated_client import MemberSettings
from tests.simulation.group_world import FAULTY_APIS, GroupWorld
from tests.simulation.history import Place
from tests.simulation.owning_member import OwningMember
from tests.simulation.streams_member import StreamsMember
from tests.simulation.streams_topology import StreamsTopology, topologies_of
from tests.simulation.world import CHAOS_MS, DATA_TOPICS

RELEASES: tuple[Release, ...] = ((4, 2), (4, 3), (4, 4), (4, 4))
SECOND_VERSION_SINCE: Release = (4, 4)
STATIC_CHANCE = 0.4
PROCESS_COUNT = 3
CHANGE_CHANCE = 0.3
RESTART_MS_MAX = 700
GROWTH_MS_MAX = 600
"""How long a group may wait until an administrator has added partitions to its changelog, too."""


class StreamsWorld(GroupWorld):
    """A world with one or two streams groups, whose members run in up to three processes each."""

    crowded_chance = 0.0
    ledger_chance = 0.0
    consumer_class = StreamsMember
    faulty_apis = FAULTY_APIS | {"StreamsGroupHeartbeat": "COORDINATOR_LOAD_IN_PROGRESS"}

    def __init__(self, seed: int, *arguments: object) -> None:
        """Create a world as `World` does."""
        self.topologies: dict[str, StreamsTopology] = {}
        random = Random(f"{seed} topologies")
        for number in range(random.randint(1, 2)):
            group = f"streams{number}"
            topics = random.sample(DATA_TOPICS, 2)
            self.topologies[group] = random.choice(topologies_of(group, *topics))
        self.standby_counts = dict.fromkeys(self.topologies, random.choice((0, 1, 1, 2)))
        super().__init__(seed, *arguments)

    def _config(self) -> dict[str, str]:
        config = super()._config()
        random = self._random("config of streams groups")
        self.release = random.choice(RELEASES)
        return config | {
            "broker.api.versions": ".".join(map(str, self.release)),
            "cluster.features": "share.version=1,streams.version=1",
            "group.streams.min.heartbeat.interval.ms": "1",
            "group.streams.heartbeat.interval.ms": random.choice(("200", "350")),
            "group.streams.min.session.timeout.ms": "1",
            "group.streams.session.timeout.ms": str(self.session_timeout_ms),
            "group.streams.num.standby.replicas": str(self.standby_counts["streams0"]),
            "group.streams.initial.rebalance.delay.ms": random.choice(("0", "0", "300")),
            "group.streams.assignment.interval.ms": random.choice(("0", "0", "300", "900")),
        }

    def _make_topics(self) -> None:
        super()._make_topics()
        self.groups.takes_late_commits = True  # in all releases
        self._first_sizes = self._sizes()

    def data_topics(self) -> list[Topic]:
        """Return the topics that members read."""
        topics = self.server.cluster.topics
        internal = {
            name: topic
            for topology in self.topologies.values()
            for name in topology.sized_like
            if name in topology.sources and (topic := topics.get(name)) is not None
        }
        return [*super().data_topics(), *internal.values()]

    def _make_clients(self) -> None:
        random = self._random("members of streams groups")
        for group in self.topologies:
            for _ in range(random.choice((1, 2, 3, 4, 5))):
                self._make_consumer(group, random)
        self._watch_commits()

    def _settings(self, name: str, group: str, random: Random) -> MemberSettings:
        settings = super()._settings(name, group, random)
        topology = self.topologies[group]
        may_be_static = self.release >= STATIC_MEMBERS_SINCE
        is_static = may_be_static and random.random() < STATIC_CHANCE
        version = random.choice((0, 1)) if self.release >= SECOND_VERSION_SINCE else 0
        return settings._replace(
            topics=topology.sources,
            topology=topology,
            process_id=f"process{random.randrange(PROCESS_COUNT)}",
            instance_id=f"instance-of-{name}" if is_static else None,
            versions_max=settings.versions_max | {ApiKey.STREAMS_GROUP_HEARTBEAT: version},
        )

    # Running ---------------------------------------------------------------------------------

    def _plan_clients(self) -> None:
        super()._plan_clients()
        random = self._random("records of streams groups")
        for topology in self.topologies.values():
            for name in topology.sources:
                for _ in range(random.choice((5, 30))):
                    append = partial(self._append_if_possible, name, random.randrange(60))
                    self.schedule.after(random.randrange(CHAOS_MS), append)

        for member in self.consumers:
            if member.settings.instance_id is not None:
                restart = partial(self._restart, member, random.randrange(1, RESTART_MS_MAX))
                self.schedule.after(random.randrange(CHAOS_MS), restart)

        change = self._random("standby tasks")
        if change.random() < CHANGE_CHANCE:
            configure = partial(self._change_standbys, *change.choice(self._standby_changes()))
            self.schedule.after(change.randrange(CHAOS_MS), configure)

    def _standby_changes(self) -> list[tuple[str, int]]:
        return [(group, count) for group in self.topologies for count in (0, 1, 2)]

    def _change_standbys(self, group: str, count: int) -> None:
        """Ask for another number of standby tasks of a group."""
        cluster, self.standby_counts[group] = self.server.cluster, count
        layer = {"streams.num.standby.replicas": str(count)}
        cluster.set_config(cluster.config.with_resource((ResourceType.GROUP, group), layer))
        self.trace(f"{group} is to have {count} standby tasks of each task")

    def _restart(self, member: OwningMember, pause_ms: int) -> None:
        """Let a static member leave for so short a time that its tasks may wait for it."""
        if member.is_active:
            member.leave()
            self.schedule.after(pause_ms, member.start)

    def _append_if_possible(self, name: str, index: int) -> None:
        """Store a record as a producer or another task would, if the topic exists already."""
        if self.server.cluster.topics.get(name) is not None:
            self._append(name, index, 1)

    def _add_partition(self, random: Random) -> None:
        """Add a partition to a topic, and soon after to the internal topics that follow it."""
        super()._add_partition(random)
        self.schedule.after(random.randrange(GROWTH_MS_MAX), self._grow_internal_topics)

    def _grow_internal_topics(self) -> None:
        """Add partitions that a topic has got since to the internal topics that follow it."""
        cluster = self.server.cluster
        for topology in self.topologies.values():
            for name, source_name in topology.sized_like.items():
                topic, source = cluster.topics.get(name), cluster.topics.get(source_name)
                if topic is None or source is None:
                    continue
                missing = len(source.partitions) - len(topic.partitions)
                is_earlier_size = len(topic.partitions) >= self._first_sizes[source_name]
                if missing > 0 and is_earlier_size and cluster.alive_broker_ids():
                    cluster.add_partitions(topic, cluster.place(missing, 1))
                    self.trace(f"{name} has {len(topic.partitions)} partitions now")

    # The end ---------------------------------------------------------------------------------

    def _unsettled(self) -> str:
        # A request that paused may create a topic with a number of partitions of before.
        self._grow_internal_topics()
        problems = (*self._wrong_internal_topics(), *self._wrong_standbys())
        return super()._unsettled() or next(iter(problems), "")

    def _note_unsettled(self, text: str) -> None:
        self.groups.wrong_internal_topics += self._wrong_internal_topics()
        self.groups.wrong_standbys += self._wrong_standbys()
        super()._note_unsettled(text)

    def _sizes(self) -> dict[str, int]:
        topics = self.server.cluster.topics
        found = {name: topics.get(name) for name in DATA_TOPICS}
        return {name: len(topic.partitions) for name, topic in found.items() if topic is not None}

    def _wrong_internal_topics(self) -> Iterator[str]:
        sizes = self._sizes()
        for topology in self.topologies.values():
            for name, source_name in topology.sized_like.items():
                topic = self.server.cluster.topics.get(name)
                size = 0 if topic is None else len(topic.partitions)
                if size != sizes[source_name]:
                    yield f"{name} has {size} partitions, {source_name} {sizes[source_name]}"

    def _wrong_standbys(self) -> Iterator[str]:
        for group, topology in self.topologies.items():
            members = [
                member
                for member in self.consumers
                if member.settings.group == group and isinstance(member, StreamsMember)
            ]
            process_count = len({member.settings.process_id for member in members})
            expected = min(self.standby_counts[group], process_count - 1)
            counts: Counter[Place] = Counter()
            for member in members:
                counts.update(member.tasks.standby)
            with_state = topology.tasks(self._sizes(), with_state=True)
            for task in sorted({*counts, *with_state}):
                count = expected if task in with_state else 0
                if counts[task] != count:
                    yield f"{group} has {counts[task]} standby tasks of {task} instead of {count}"

    def _counts(self) -> dict[str, int]:
        processes = [ownership for ownership in self.groups.ownerships if ownership.process_id]
        return super()._counts() | {"tasks": len(processes)}
