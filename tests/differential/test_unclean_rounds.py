"""Random losses of leaders: the same by seed, and none that Kafka's disks would undo."""

from hypothesis import given
from hypothesis import strategies as st

from tests.differential.unclean_rounds import is_stopped, random_unclean_run

SEEDS = st.integers(0, 1 << 30)
ROUNDS = 24


@given(SEEDS)
def test_a_seed_says_what_is_done(seed: int) -> None:
    run = random_unclean_run(seed, 4, ROUNDS)
    assert run == random_unclean_run(seed, 4, ROUNDS)
    assert run != random_unclean_run(seed + 1, 4, ROUNDS)
    assert len(run.moves) == len(run.sequences[0].operations) == ROUNDS


@given(SEEDS)
def test_who_was_elected_without_all_records_stays_until_the_last_leader_is_back(seed: int) -> None:
    stopped: list[int] = []
    must_wait_for = None
    for move in random_unclean_run(seed, 1, ROUNDS).moves:
        if move is None:
            continue
        kind, node_id = move
        if kind == "start":
            if len(stopped) == 2 and stopped[0] == node_id:
                must_wait_for = stopped[1]
            stopped.remove(node_id)
            must_wait_for = None if node_id == must_wait_for else must_wait_for
        else:
            assert must_wait_for is None
            assert node_id not in stopped
            stopped.append(node_id)


@given(SEEDS)
def test_records_are_deleted_only_while_both_replicas_are_up_and_none_is_killed(seed: int) -> None:
    run = random_unclean_run(seed, 4, ROUNDS)
    has_kill = "kill" in {move[0] for move in run.moves if move is not None}
    for sequence in run.sequences:
        assert not (has_kill and sequence.min_insync_replicas > 1)
        for index, operation in enumerate(sequence.operations):
            if operation[0] == "delete_records":
                assert not has_kill
                assert not is_stopped(run.moves, index)
