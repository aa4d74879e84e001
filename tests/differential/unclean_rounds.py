"""Random changes of topics while their leaders are lost: what each elected replica still has.

Brokers 2 and 3 have the replicas, and broker 1 is the controller. Of the two one stops, and records
are written that it does not have. Then the other one stops, and whoever returns first may lead: an
unclean election, or one of an eligible leader replica.
"""

import random
from collections.abc import Sequence

from tests.differential.replica_rounds import (
    BASE_TIMESTAMP,
    Move,
    Operation,
    ReplicaRun,
    ReplicaSequence,
)

_REPLICAS = (2, 3)


def random_unclean_run(seed: int, topics: int, rounds: int) -> ReplicaRun:
    """Return a run of this many sequences; the same for the same arguments."""
    chance = random.Random(seed)
    moves = _random_moves(chance, rounds)
    return ReplicaRun([_random_sequence(chance, moves) for _ in range(topics)], moves)


def _random_moves(chance: random.Random, rounds: int) -> list[Move | None]:
    """Return the moves; the first round has none, so that a topic has records.

    The last leader is back before the one that was elected without its records stops. With Kafka it
    may lead again with them otherwise (ADR 38).
    """
    moves: list[Move | None] = [None]
    while len(moves) < rounds:
        behind, last = chance.sample(_REPLICAS, 2)
        moves += [(_way_to_stop(chance), behind), *_quiet_rounds(chance)]
        if chance.random() < 0.2:
            moves.append(("start", behind))
            continue
        moves.append((_way_to_stop(chance), last))
        first, second = (behind, last) if chance.random() < 0.7 else (last, behind)
        moves += [("start", first), *_quiet_rounds(chance), ("start", second)]
        moves += _quiet_rounds(chance)
    return moves[:rounds]


def _way_to_stop(chance: random.Random) -> str:
    return chance.choice(("stop", "stop", "kill"))


def _quiet_rounds(chance: random.Random) -> list[None]:
    return [None] * chance.choice((0, 0, 1))


def has_stopped(moves: Sequence[Move | None], index: int) -> bool:
    """Return whether a broker is stopped in a round."""
    stopped = set[int]()
    for move in moves[: index + 1]:
        if move is not None:
            stopped ^= {move[1]}
    return bool(stopped)


def _random_sequence(chance: random.Random, moves: Sequence[Move | None]) -> ReplicaSequence:
    operations = [
        _random_operation(chance, can_delete=not has_stopped(moves, index))
        for index in range(len(moves))
    ]
    return ReplicaSequence(
        chance.sample(_REPLICAS, len(_REPLICAS)),
        chance.choice((1, 1, 2)),
        operations,
        has_unclean_elections=chance.random() < 0.8,
    )


def _random_operation(chance: random.Random, *, can_delete: bool) -> Operation:
    """Return an operation; a replica that is behind deletes nothing, and is not behind the start.

    With Kafka it still has the records that the leader has deleted (ADR 38).
    """
    if can_delete and chance.random() < 0.1:
        return ["delete_records", chance.choice((-1, 1, 2, 3))]
    acks = chance.choice((-1, 1, 1))
    return ["produce", acks, chance.choice((1, 1, 2, 3)), BASE_TIMESTAMP + chance.randrange(10)]
