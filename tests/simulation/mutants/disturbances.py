"""Bugs that show when the clock moves, clients send anything, or the admin port is used."""

from broker import timers
from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.faults.slow_link import _Trickling
from broker.http_admin import topic_records
from broker.server.timer_driver import TimerDriver
from quotas.metered_bucket import MeteredBucket
from tests.simulation.mutants.mutant import Mutant, edited
from tests.simulation.provoking_worlds import (
    BusyAdminPortWorld,
    HostileClientsWorld,
    MovedClockWorld,
    SlowConnectionsWorld,
)

DISTURBANCE_MUTANTS: tuple[Mutant, ...] = (
    # The clock
    edited(
        "The alarm stays where it was when the clock moves.",
        "timers",
        TimerDriver.advance,
        "clock.move_to(target_ms)\n    self.reset_alarm()",
        "clock.move_to(target_ms)",
        MovedClockWorld,
    ),
    edited(
        "A timer that is due before all others does not set the alarm.",
        "timers",
        timers.Timers.schedule,
        "self._heap[0][2] is timer",
        "len(self._heap) == 1",
    ),
    edited(
        "The alarm rings only once.",
        "timers",
        TimerDriver._ring,
        "self.reset_alarm()",
        "pass",
    ),
    edited(
        "A bucket that no request used while the clock moved fills beyond its burst.",
        "mutation_quota",
        MeteredBucket.try_charge,
        "if balance > capacity:",
        "if False:",
        MovedClockWorld,
    ),
    # Slow connections
    edited(
        "A response in pieces lacks the last byte of each piece.",
        "protocol",
        _Trickling.piece,
        "self._frame[start:end]",
        "self._frame[start:end - 1]",
        SlowConnectionsWorld,
    ),
    edited(
        "The pieces of a response let the next response in between.",
        "protocol",
        Connection._finish,
        "self._pending = rest = response.rest",
        "rest = response.rest",
        SlowConnectionsWorld,
    ),
    # Hostile bytes
    edited(
        "A request of a version that the broker lacks is handled.",
        "internal_errors",
        Dispatcher.dispatch,
        "if not route.version_min <= api_version <= route.version_max:",
        "if False:",
        HostileClientsWorld,
    ),
    # The admin port
    edited(
        "A broker that is down becomes a leader.",
        "metadata",
        Cluster.move_leader,
        "self.alive_broker(node_id)",
        "pass",
        BusyAdminPortWorld,
    ),
    edited(
        "A broker that is fenced keeps what it leads.",
        "metadata",
        failover._remove_from_isrs,
        "if partition.leader_id == node_id:",
        "if False:",
        BusyAdminPortWorld,
    ),
    edited(
        "The records of a partition without a leader cannot be shown.",
        "internal_errors",
        topic_records.get_records,
        "for partition in paced_elements(partitions):",
        "for partition in paced_elements(partitions):\n        assert partition.leader_id >= 0",
        BusyAdminPortWorld,
    ),
)
