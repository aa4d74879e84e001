"""Random changes of replicated topics: the same by seed, and none that loses records in Kafka."""

from hypothesis import given
from hypothesis import strategies as st

from tests.differential.replica_rounds import (
    BROKERS,
    CONTROLLER,
    ReplicaRun,
    loses_records,
    random_run,
    running_and_leaders,
)

SEEDS = st.integers(0, 1 << 30)
ROUNDS = 12


@given(SEEDS)
def test_a_seed_says_what_is_done(seed: int) -> None:
    run = random_run(seed, 4, ROUNDS)
    assert run == random_run(seed, 4, ROUNDS)
    assert run != random_run(seed + 1, 4, ROUNDS)
    assert run.only([2, 0]) == ReplicaRun([run.sequences[2], run.sequences[0]], run.moves)


@given(SEEDS)
def test_a_broker_stops_before_it_starts_and_the_controller_stays(seed: int) -> None:
    stopped: set[int] = set()
    for kind, node_id in filter(None, random_run(seed, 1, ROUNDS).moves):
        assert node_id in set(BROKERS) - {CONTROLLER}
        assert kind == ("start" if node_id in stopped else "stop")
        stopped ^= {node_id}


@given(SEEDS)
def test_no_leader_stops_while_a_record_is_behind_the_high_watermark(seed: int) -> None:
    run = random_run(seed, 8, ROUNDS)
    for sequence in run.sequences:
        rounds = running_and_leaders(sequence.replicas, run.moves)
        behind_since = None
        for (running, leader), operation in zip(rounds, sequence.operations, strict=True):
            if running == len(BROKERS):
                behind_since = None
            assert behind_since in (None, leader)
            if operation[0] == "produce" and operation[1] != -1 and running < len(BROKERS):
                behind_since = leader


def test_the_leader_moves_to_the_next_replica_and_stays_there() -> None:
    moves = [None, ("stop", 3), ("stop", 2), ("start", 3), ("start", 2)]
    assert running_and_leaders([3, 2, 1], moves) == [(3, 3), (2, 2), (1, 1), (2, 1), (3, 1)]
    assert [loses_records([3, 2, 1], moves, index) for index in range(5)] == [
        *(False, True, False, False, False)
    ]


def test_runs_write_while_one_broker_is_alone() -> None:
    alone = 0
    for run in (random_run(seed, 24, ROUNDS) for seed in range(3)):
        for sequence in run.sequences:
            rounds = running_and_leaders(sequence.replicas, run.moves)
            for (running, _leader), operation in zip(rounds, sequence.operations, strict=True):
                alone += running == 1 and operation[0] == "produce" and operation[1] != -1
    assert alone > 24
