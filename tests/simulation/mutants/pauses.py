"""Bugs that show when a request pauses and others change what it has read."""

from broker.administration import config_alteration, scram_credentials
from broker.cluster import coordinators
from broker.dispatch.turns import Turns
from broker.produce import append
from tests.simulation.mutants.mutant import Mutant, edited
from tests.simulation.provoking_worlds import (
    NewCoordinatorsWorld,
    PausesOfAdminsWorld,
    PausesOfProducersWorld,
)

PAUSE_MUTANTS: tuple[Mutant, ...] = (
    edited(
        "A batch is stored in a partition that was deleted while its records were read.",
        "memory",
        append.accept_batches,
        "checked = check_batch(fields, covered, topic, index, now_ms)\n"
        "        log = partition.log\n"
        "        if (\n"
        "            checked is not None\n"
        "            or partition.leader_id",
        "leader_id = partition.leader_id\n"
        "        checked = check_batch(fields, covered, topic, index, now_ms)\n"
        "        log = partition.log\n"
        "        if (\n"
        "            checked is not None\n"
        "            or leader_id",
        PausesOfProducersWorld,
    ),
    edited(
        "A credential that another request has deleted is deleted again.",
        "internal_errors",
        scram_credentials._apply,
        "if credentials.scram_iterations(alteration.name, mechanism) is not None:",
        "if True:",
        PausesOfAdminsWorld,
    ),
    edited(
        "An alteration of a topic undoes another one that came while it paused.",
        "configs",
        config_alteration.alter_configs,
        "_check_current(",
        "_check(",
        PausesOfAdminsWorld,
    ),
    edited(
        "An alteration of some keys resets the others.",
        "configs",
        config_alteration._check_topic,
        "layer = {} if topic is None or alteration.is_replacement else topic.config.overrides",
        "layer = {}",
        PausesOfAdminsWorld,
    ),
    edited(
        "Two requests create an internal topic if the first one pauses.",
        "internal_errors",
        coordinators.ensure_internal_topic,
        "topic = cluster.topics.get(internal.name)\n"
        "    if topic is not None:\n"
        "        return topic\n"
        "    if replication_factor >",
        "if replication_factor >",
        NewCoordinatorsWorld,
    ),
    edited(
        "A callback that a request has scheduled ends the turn of no request.",
        "internal_errors",
        Turns.pause,
        "if self._is_unlimited or request is None:\n        return",
        "if self._is_unlimited:\n        return\n    assert request is not None",
        PausesOfProducersWorld,
    ),
)
