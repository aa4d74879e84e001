"""Random changes of topics while their leaders are lost: what each elected replica still has.

Brokers 2 and 3 have the replicas, and broker 1 is the controller. Of the two one stops, and records
are written that it does not have. Then the other one stops, and the first one that returns may
lead: an unclean election, or one of an eligible leader replica.
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
    ways = chance.choice((("stop",), ("stop", "kill")))
    moves: list[Move | None] = [None]
    while len(moves) < rounds:
        behind, last = chance.sample(_REPLICAS, 2)
        moves += [(chance.choice(ways), behind), *_quiet_rounds(chance)]
        if chance.random() < 0.2:
            moves.append(("start", behind))
            continue
        moves.append((chance.choice(ways), last))
        first, second = (behind, last) if chance.random() < 0.7 else (last, behind)
        moves += [("start", first), *_quiet_rounds(chance), ("start", second)]
        moves += _quiet_rounds(chance)
    return moves[:rounds]


def _quiet_rounds(chance: random.Random) -> list[None]:
    return [None] * chance.choice((0, 0, 1))


def is_stopped(moves: Sequence[Move | None], index: int) -> bool:
    """Return whether a broker is stopped in a round."""
    stopped = set[int]()
    for move in moves[: index + 1]:
        if move is not None:
            stopped ^= {move[1]}
    return bool(stopped)


def _random_sequence(chance: random.Random, moves: Sequence[Move | None]) -> ReplicaSequence:
    has_kill = any(move is not None and move[0] == "kill" for move in moves)
    operations = [
        _random_operation(chance, index, can_delete=not has_kill and not is_stopped(moves, index))
        for index in range(len(moves))
    ]
    return ReplicaSequence(
        chance.sample(_REPLICAS, len(_REPLICAS)),
        # A broker that was killed is no eligible leader replica when it returns (KIP-966).
        1 if has_kill else chance.choice((1, 1, 2)),
        operations,
        has_unclean_elections=chance.random() < 0.8,
    )


def _random_operation(chance: random.Random, index: int, *, can_delete: bool) -> Operation:
    """Return the operation of a round.

    Nothing is deleted while a replica is behind: with Kafka it still has the records (ADR 38). Nor
    in a run with a kill: a broker of Kafka stores log starts once a minute.

    The timestamps ascend. After a restart and a truncation Kafka may not know the largest one.
    """
    if can_delete and chance.random() < 0.2:
        return ["delete_records", chance.choice((-1, 1, 2, 3))]
    acks = chance.choice((-1, 1, 1))
    return ["produce", acks, chance.choice((1, 1, 2, 3)), BASE_TIMESTAMP + index]
