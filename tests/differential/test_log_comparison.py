"""Logs shrink, and are searched by time, as those of Apache Kafka."""

from pathlib import Path

import pytest

from scenarios.maven import CannotRunError
from tests.differential.clusters import apache_cluster
from tests.differential.log_comparison import (
    SETUP,
    KeptRun,
    compare_logs,
    our_logs,
    play_on_ours,
)
from tests.differential.log_rounds import LogPlay, LogRun, differences


def played_by_kafka(kept: KeptRun, ours: LogPlay) -> LogPlay:
    """Return a play that has seen what Kafka has."""
    return LogPlay(ours.cluster, ours.wait, ours.begun_ms, "", seen=list(kept.seen))


@pytest.mark.slow
def test_our_logs_change_as_those_of_kafka_did() -> None:
    kept = KeptRun.load()
    assert len(kept.run.sequences) >= 10
    with our_logs() as ours:
        own = play_on_ours(ours, kept.run, "kept", kept.moments)
    assert differences(kept.run, played_by_kafka(kept, own), own) == []


def test_a_difference_is_found_in_the_first_round_that_has_it() -> None:
    kept = KeptRun.load()
    run = LogRun(kept.run.sequences[:1], kept.run.waits_ms)
    first = [[seen[0]] for seen in kept.seen]
    changed = [[{**seen[0], "size": [index]}] for index, seen in enumerate(kept.seen)]
    plays = [LogPlay(None, lambda _ms: 0, 0, "", seen=seen) for seen in (first, changed)]  # type: ignore[arg-type]
    differing = [index for index in range(len(first)) if first[index][0]["size"] != [index]]
    found = differences(run, *plays)
    assert [(number, index, what) for number, index, what, _, _ in found] == [
        (0, differing[0], "size")
    ]


@pytest.mark.compare
@pytest.mark.xdist_group("jvm")
def test_random_changes_of_logs_have_the_same_effects(tmp_path: Path) -> None:
    lines: list[str] = []
    try:
        with apache_cluster(tmp_path, SETUP) as kafka, our_logs() as ours:
            count = compare_logs(kafka, ours, range(2), lines.append)
    except CannotRunError as error:
        pytest.skip(str(error))
    assert count == 0, "\n".join(lines)
