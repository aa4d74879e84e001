"""Logs shrink, and are searched by time, as those of Apache Kafka."""

from pathlib import Path

import pytest

from scenarios.maven import CannotRunError
from tests.differential.clusters import apache_cluster
from tests.differential.log_comparison import (
    CHANGES,
    CLEANINGS,
    SETUP,
    Rounds,
    compare_logs,
    our_logs,
    play_on_ours,
)
from tests.differential.played_runs import differences

each_kind = pytest.mark.parametrize("rounds", [CHANGES, CLEANINGS], ids=lambda kind: kind.about)


@pytest.mark.slow
@each_kind
def test_our_logs_change_as_those_of_kafka_did(rounds: Rounds) -> None:
    kept = rounds.load()
    assert len(kept.run.sequences) >= 10
    with our_logs() as ours:
        own = play_on_ours(ours, rounds, kept.run, "kept", kept.moments)
    assert differences(list(kept.seen), own.seen) == []


@pytest.mark.compare
@pytest.mark.xdist_group("jvm")
@each_kind
def test_random_changes_of_logs_have_the_same_effects(tmp_path: Path, rounds: Rounds) -> None:
    lines: list[str] = []
    try:
        with apache_cluster(tmp_path, SETUP) as kafka, our_logs() as ours:
            count = compare_logs(kafka, ours, rounds, range(2), lines.append)
    except CannotRunError as error:
        pytest.skip(str(error))
    assert count == 0, "\n".join(lines)
