"""Worlds in which one kind of failure is frequent, so that few worlds find its bugs."""

from collections.abc import Sequence
from functools import partial

from broker.faults import FaultRule
from tests.simulation.network import Weather
from tests.simulation.pauses import Pauses
from tests.simulation.producer_client import ProducerClient
from tests.simulation.transactional_world import TransactionWorld
from tests.simulation.virtual_time import START_MS
from tests.simulation.world import CHAOS_MS, DOOMED_TOPIC, World

LEADER_MOVES = 100
EXTRA_SENDS = 20
UPGRADES = 10
ALTERATIONS = 20
DELETIONS = 20
MUTATIONS = 20
CLOCK_MOVES = 6
ATTACKS = 30
OPERATIONS = 30
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


class VeryFrequentPauses(FrequentPauses):
    """Each request that may pause does."""

    chances = (0.4,)
    rests_ms = (0, 0, 1, 3)


class PausesOfTransactionsWorld(TransactionWorld):
    """Requests of transactional producers pause."""

    pauses_class = FrequentPauses


class PausesOfAdminsWorld(World):
    """Requests pause, and two admins alter the same things at the same time."""

    pauses_class = VeryFrequentPauses

    def _weather(self) -> Weather:
        return Weather(delay_ms_max=2)

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
