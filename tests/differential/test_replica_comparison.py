"""High watermarks and lost ends of logs are those of Apache Kafka while brokers stop."""

from pathlib import Path

import pytest

from scenarios.maven import CannotRunError
from tests.differential.clusters import apache_cluster, our_cluster
from tests.differential.played_runs import differences
from tests.differential.replica_comparison import SETUP, KeptReplicaRun, compare_replicas, play_on
from tests.differential.replica_rounds import ReplicaRun, ReplicaSequence


@pytest.mark.slow
def test_a_round_sees_what_a_stopped_broker_holds_back() -> None:
    sequence = ReplicaSequence(
        [1, 2, 3], 3, [["produce", -1, 2, 0], ["produce", 1, 1, 5], ["alter", 1], ["alter", 1]]
    )
    run = ReplicaRun([sequence], [None, ("stop", 2), None, ("start", 2)])
    lines: list[str] = []
    with our_cluster(SETUP) as ours, our_cluster(SETUP) as others:
        seen, other = play_on((ours, others), run, "held", lines.append)
    assert differences(seen, other) == []
    assert [said[0]["offset -1 uncommitted"][:2] for said in seen] == [
        [0, 2],
        [0, 2],
        [0, 2],
        [0, 3],
    ]
    assert [said[0]["fetch 2 committed"] for said in seen] == [
        *([0, 2, 2, 0, []] for _ in range(3)),
        [0, 3, 3, 0, [2]],
    ]
    assert [said[0]["partition"][0][3] for said in seen] == [[1, 2, 3], [1, 3], [1, 3], [1, 2, 3]]
    assert [said[0]["answer"] for said in seen] == [[0, 0, 0], [0, 2, 0], 0, 0]
    assert lines[1] == "round 2 of 4: ('stop', 2)"


@pytest.mark.slow
def test_our_logs_lose_their_end_as_those_of_kafka_did() -> None:
    kept = KeptReplicaRun.load()
    with our_cluster(SETUP) as ours:
        (seen,) = play_on((ours,), kept.run, "kept", lambda _line: None)
    assert differences(list(kept.seen), seen) == []


@pytest.mark.compare
@pytest.mark.xdist_group("jvm")
def test_random_changes_of_replicas_have_the_same_effects(tmp_path: Path) -> None:
    lines: list[str] = []
    try:
        with apache_cluster(tmp_path, SETUP) as kafka, our_cluster(SETUP) as ours:
            count = compare_replicas(kafka, ours, range(1), lines.append)
    except CannotRunError as error:
        pytest.skip(str(error))
    assert count == 0, "\n".join(lines)
