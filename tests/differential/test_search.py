"""The search finds a difference between two clusters and shortens its conversation."""

from collections.abc import Iterator

import pytest

from mock_kafka import MockKafka
from tests.differential.clusters import (
    REPLAY_REBALANCE_DELAY_MS,
    ComparedCluster,
    Setup,
    compared,
    our_config,
)
from tests.differential.conversation import Send
from tests.differential.search import Pair, Report, Search, common_versions, schemas
from tests.differential.strategies import Subject


@pytest.fixture
def other() -> Iterator[MockKafka]:
    """A second cluster of ours, in the place of the tested one."""
    with MockKafka(config=our_config(Setup(rebalance_delay_ms=REPLAY_REBALANCE_DELAY_MS))) as kafka:
        yield kafka


def search(ours: ComparedCluster, other: MockKafka, api: str) -> Report:
    compared(other).warm_up()
    served = ours.api_versions()
    versions = common_versions(served, served, schemas())
    return Search(Pair(ours, compared(other)), Subject(api, versions), frozenset()).run(1, 8)


@pytest.mark.slow
def test_equal_clusters_have_no_difference(ours: ComparedCluster, other: MockKafka) -> None:
    report = search(ours, other, "CreateTopics")
    assert [finding.lines for finding in report.findings] == []
    assert report.errors == []
    assert report.agreement["CreateTopics"].conversations == 8
    assert report.agreement["CreateTopics"].agreeing == report.agreement["CreateTopics"].responses
    assert report.samples.keys() == {"CreateTopics"}


@pytest.mark.slow
def test_a_changed_response_is_found_in_the_shortest_conversation(
    ours: ComparedCluster, other: MockKafka
) -> None:
    other.respond(response={"throttle_time_ms": 7}, api="ListGroups")
    report = search(ours, other, "ListGroups")
    (finding,) = report.findings
    assert finding.signature == "ListGroups throttle_time_ms"
    (step,) = finding.conversation.steps
    assert isinstance(step, Send)
    assert step.api == "ListGroups"
    assert list(finding.lines) == ["step 1 ListGroups throttle_time_ms: Kafka 0, ours 7"]


def test_versions_are_those_of_both_clusters_and_of_the_schema() -> None:
    schema = {0: ("Produce", 3, 13), 1: ("Fetch", 4, 18), 2: ("ListOffsets", 1, 11)}
    kafka = {0: (0, 12), 1: (4, 17)}
    ours = {0: (0, 13), 1: (18, 18), 2: (1, 11)}
    assert common_versions(kafka, ours, schema) == {"Produce": (3, 12)}
