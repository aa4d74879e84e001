"""Worlds in which one kind of failure is frequent, so that few worlds find its bugs."""

from collections.abc import Sequence
from functools import partial

from broker.faults import FaultRule
from simulation.network_conditions import NetworkConditions
from tests.simulation.group_member import GroupMember
from tests.simulation.pauses import Pauses
from tests.simulation.producer_client import ProducerClient
from tests.simulation.transactional_world import TransactionWorld
from tests.simulation.virtual_time import START_MS
from tests.simulation.world import CHAOS_MS, DOOMED_TOPIC, World

LEADER_MOVES = 100
LAGS = 30
OUTAGES = 10
EXTRA_SENDS = 20
UPGRADES = 10
ALTERATIONS = 20
DELETIONS = 20
MUTATIONS = 20
CLOCK_MOVES = 6
ATTACKS = 30
SLOWDOWNS = 30
OPERATIONS = 30
MORE_MEMBERS = 4
LEAVE_MS = 1
NEW_PRODUCERS = 4
LOOK_MS = 3
DELETION_CHANCE = 0.1


class LostResponsesWorld(World):
    """Produce responses are lost and leaders move, so that retries reach another leader."""

    def _plan(self) -> None:
        super()._plan()
        rule = {
            "api": "Produce",
            "drop": "before_response",
            "probability": 0.3,
            "seed": self.seed,
        }
        self.server.dispatcher.faults.add(FaultRule.from_json(rule), START_MS)
        for number in range(LEADER_MOVES):
            self.schedule.after(number * CHAOS_MS // LEADER_MOVES, self.chaos.move_leader)


class LaggingFollowersWorld(World):
    """Followers lag, and brokers stop; who is not in sync may not lead."""

    elects_unclean = False

    def _make_topics(self) -> None:
        self.history.elects_unclean = self.elects_unclean
        super()._make_topics()

    def _plan(self) -> None:
        super()._plan()
        for number in range(LAGS):
            self.schedule.after(number * CHAOS_MS // LAGS, self.chaos.pause_follower)
        for number in range(OUTAGES):
            self.schedule.after(number * CHAOS_MS // OUTAGES, self.chaos.stop_broker)


class UncleanElectionsWorld(LaggingFollowersWorld):
    """Followers lag, and are elected without what they have not fetched."""

    elects_unclean = True


class SmallLogsWorld(World):
    """The logs may keep little memory, and producers send much more than that."""

    def _config(self) -> dict[str, str]:
        self.has_small_log = True
        return super()._config()

    def _plan(self) -> None:
        super()._plan()
        for producer in self.producers:
            for number in range(EXTRA_SENDS):
                self.schedule.after(number * CHAOS_MS // EXTRA_SENDS, partial(self._send, producer))


class RollingUpgradeWorld(World):
    """Brokers are started with another rule for duplicates, time and again."""

    def _plan(self) -> None:
        super()._plan()
        for number in range(UPGRADES):
            at_ms = number * CHAOS_MS // UPGRADES
            self.schedule.after(at_ms, self.disturbances.port.upgrade_broker)


class QuotasWorld(World):
    """Writers have low quotas, and a client creates and deletes topics time and again."""

    def _make_clients(self) -> None:
        super()._make_clients()
        self._set_quota("writer", "producer_byte_rate", 1_000)
        self._set_quota("writer", "producer_ids_rate", 1)

    def _plan(self) -> None:
        super()._plan()
        _root, mutator = self.admins
        for number in range(MUTATIONS):
            self.schedule.after(number * CHAOS_MS // MUTATIONS, mutator.churn)


class LastMembersWorld(World):
    """Each group has several members, and one of them leaves when no fault occurs any more."""

    def _make_clients(self) -> None:
        super()._make_clients()
        for number in range(MORE_MEMBERS):
            self.members.append(self._make_member(f"more{number}", number % 2))

    def _be_calm(self) -> None:
        super()._be_calm()
        running = [member for member in self.members if member.is_running]
        if running:
            member = self._random("last to leave").choice(running)
            self.schedule.after(LEAVE_MS, partial(self._leave_for_good, member))

    def _leave_for_good(self, member: GroupMember) -> None:
        if member.is_running:
            member.is_gone = True
            member.leave()


class DeletedRecordsWorld(World):
    """An admin deletes records, time and again."""

    def _plan(self) -> None:
        super()._plan()
        for number in range(DELETIONS):
            self.schedule.after(number * CHAOS_MS // DELETIONS, self.disturbances.delete_records)


class MovedClockWorld(World):
    """The clock is moved forward, time and again."""

    def _plan(self) -> None:
        super()._plan()
        for number in range(CLOCK_MOVES):
            at_ms = number * CHAOS_MS // CLOCK_MOVES
            self.schedule.after(at_ms, self.disturbances.move_clock)


class SlowConnectionsWorld(World):
    """Connections are slow, or end in an unusual way, time and again."""

    def _plan(self) -> None:
        super()._plan()
        for number in range(SLOWDOWNS):
            self.schedule.after(number * CHAOS_MS // SLOWDOWNS, self.disturbances.slow_down)


class HostileClientsWorld(World):
    """Clients connect all the time that send anything."""

    def _plan(self) -> None:
        super()._plan()
        for number in range(ATTACKS):
            self.schedule.after(number * CHAOS_MS // ATTACKS, self.disturbances.attack)


class BusyAdminPortWorld(World):
    """Operations of the admin port come one after the other."""

    def _plan(self) -> None:
        super()._plan()
        for number in range(OPERATIONS):
            at_ms = number * CHAOS_MS // OPERATIONS
            self.schedule.after(at_ms, self.disturbances.port.do_something)


class FrequentPauses(Pauses):
    """Most requests pause, some of them for long."""

    share = 1
    chances: Sequence[float] = (0.05, 0.15)
    rests_ms: Sequence[int] = (0, 0, 0, 1, 5, 20, 200)
    long_body_bytes = (100,)


class LongPauses(FrequentPauses):
    """Requests pause in few places, and for long: others come and go during one pause."""

    chances = (0.05,)
    rests_ms = (0, 1, 5, 20)


class PausesOfTransactionsWorld(TransactionWorld):
    """Requests of transactional producers pause."""

    pauses_class = FrequentPauses


class ManyPauses(FrequentPauses):
    """Requests pause in many places, for a moment."""

    chances = (0.3,)
    rests_ms: Sequence[int] = (0, 1, 3)


class LongWaits(ManyPauses):
    """Requests wait for others that pause, some for longer than a session."""

    rests_ms = (0, 1, 3, 20, 100)


class NewCoordinatorsWorld(TransactionWorld):
    """All transactional producers start together, and the requests for their coordinator pause."""

    pauses_class = ManyPauses

    def _network_conditions(self) -> NetworkConditions:
        return NetworkConditions(delay_ms_max=2)

    def _plan(self) -> None:
        super()._plan()
        for transactional_id in self.ids * NEW_PRODUCERS:
            self.schedule.after(0, partial(self._start, transactional_id))


class PausesOfAdminsWorld(World):
    """Requests pause, and two admins alter the same things at the same time."""

    pauses_class = LongPauses

    def _network_conditions(self) -> NetworkConditions:
        return NetworkConditions(delay_ms_max=2)

    def _make_clients(self) -> None:
        super()._make_clients()
        for clients in (self.producers, self.libraries, self.members):
            clients.clear()

    def _plan(self) -> None:
        super()._plan()
        for number in range(ALTERATIONS):
            at_ms = number * CHAOS_MS // ALTERATIONS
            self.schedule.after(at_ms, self.disturbances.alter_topic)
            self.schedule.after(at_ms, self.disturbances.alter_scram)


class PausesOfProducersWorld(World):
    """Requests pause, and the topic of many of them is deleted and created again."""

    pauses_class = FrequentPauses

    def _plan(self) -> None:
        super()._plan()
        rule = {"api": "Produce", "delay_request_ms": 10, "probability": 0.1, "seed": self.seed}
        self.server.dispatcher.faults.add(FaultRule.from_json(rule), START_MS)
        for producer in self.producers:
            for number in range(EXTRA_SENDS):
                at_ms = number * CHAOS_MS // EXTRA_SENDS
                self.schedule.after(at_ms, partial(self._send_to_doomed, producer))
        for at_ms in range(0, CHAOS_MS, LOOK_MS):
            self.schedule.after(at_ms, self._delete_in_pause)

    def _send_to_doomed(self, producer: ProducerClient) -> None:
        for partition_index in range(2):
            producer.send((DOOMED_TOPIC, partition_index), 12)

    def _delete_in_pause(self) -> None:
        if len(self.server.dispatcher.turns) and self.random.random() < DELETION_CHANCE:
            self._delete_doomed()
            self.schedule.after(2 * LOOK_MS, self._create_doomed)

    def _create_doomed(self) -> None:
        cluster = self.server.cluster
        if cluster.topics.get(DOOMED_TOPIC) is None:
            before_ms = {"message.timestamp.before.max.ms": str(START_MS)}
            cluster.create_topic(DOOMED_TOPIC, cluster.place(2, 1), before_ms)
