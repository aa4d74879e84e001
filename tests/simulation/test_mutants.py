"""Each checker can fail: each mutant is found within forty worlds, by the checker that it names."""

import pytest

from tests.simulation.checkers import CHECKERS
from tests.simulation.mutants.all_mutants import MUTANTS
from tests.simulation.mutants.mutant import WORLDS_MAX, Mutant
from tests.simulation.patches import Patch, edit
from tests.simulation.provoking_worlds import (
    BusyAdminPortWorld,
    DeletedRecordsWorld,
    HostileClientsWorld,
    LastMembersWorld,
    LostResponsesWorld,
    MovedClockWorld,
    NewCoordinatorsWorld,
    PausesOfAdminsWorld,
    PausesOfProducersWorld,
    PausesOfTransactionsWorld,
    QuotasWorld,
    RollingUpgradeWorld,
    SlowConnectionsWorld,
    SmallLogsWorld,
)
from tests.simulation.world import World


def sample() -> list[Mutant]:
    """Return the last mutant of each checker: together they take less time than the first ones."""
    return list({mutant.checker: mutant for mutant in MUTANTS}.values())


def parameters() -> list[object]:
    """Return all mutants; those that are not in the sample run in the long tier only."""
    chosen = sample()
    return [
        pytest.param(
            mutant,
            marks=pytest.mark.slow if mutant in chosen else pytest.mark.long,
            id=f"{mutant.checker}: {mutant.name}",
        )
        for mutant in MUTANTS
    ]


@pytest.mark.parametrize("mutant", parameters())
def test_checker_finds_mutant(mutant: Mutant) -> None:
    assert mutant.worlds_needed(), f"{mutant.name} Not found in {WORLDS_MAX} worlds."


def test_each_checker_has_a_mutant() -> None:
    assert {mutant.checker for mutant in MUTANTS} == set(CHECKERS)


def test_a_mutant_of_changed_code_is_an_error() -> None:
    with Patch.context() as patch, pytest.raises(ValueError, match="has 0 times 'no such text'"):
        edit(patch, World.run, "no such text", "")


def test_an_edit_ends_with_its_patch() -> None:
    world = World(1)
    with Patch.context() as patch:
        edit(patch, World.data_topics, "is not None", "is None")
        assert world.data_topics() == []
    assert len(world.data_topics()) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "world_class",
    [
        BusyAdminPortWorld,
        DeletedRecordsWorld,
        HostileClientsWorld,
        LastMembersWorld,
        LostResponsesWorld,
        MovedClockWorld,
        NewCoordinatorsWorld,
        PausesOfAdminsWorld,
        PausesOfProducersWorld,
        PausesOfTransactionsWorld,
        QuotasWorld,
        RollingUpgradeWorld,
        SlowConnectionsWorld,
        SmallLogsWorld,
    ],
)
def test_provoking_worlds_have_no_violations_without_a_bug(world_class: type[World]) -> None:
    assert [world_class(seed).run().violations for seed in range(5)] == [[]] * 5
