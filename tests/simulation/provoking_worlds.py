"""Worlds in which one kind of failure is frequent, so that few worlds find its bugs."""

from functools import partial

from broker.faults import FaultRule
from tests.simulation.virtual_time import START_MS
from tests.simulation.world import CHAOS_MS, World

LEADER_MOVES = 100
EXTRA_SENDS = 20
UPGRADES = 10


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
