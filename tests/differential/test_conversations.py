"""Kept conversations: our broker answers as Apache Kafka did, and Kafka still does."""

from pathlib import Path

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.routes import ROUTES
from protocol.messages import API_NAMES
from protocol.releases import DEFAULT_VERSIONS
from tests.differential.authorization_matrix import declared_checks
from tests.differential.clusters import ComparedCluster
from tests.differential.comparison import compare
from tests.differential.conversation import FOLDER, kept_paths, load
from tests.differential.keeping import (
    SAMPLES,
    ReplayClusters,
    apis_with_answers,
    kept_differences,
    replay,
)
from tests.differential.player import Play
from tests.differential.search import Pair, Search, common_versions, schemas
from tests.differential.strategies import Subject

ADVERTISED = sorted(key for key in DEFAULT_VERSIONS if ROUTES[key].is_advertised)
CONVERSATIONS = {path: load(path).conversation for path in kept_paths()}
AUTHORIZED = [path for path, kept in CONVERSATIONS.items() if kept.has_authorizer]
KEPT_OF_ONE_BROKER = [
    path for path, kept in CONVERSATIONS.items() if kept.brokers == 1 and not kept.has_authorizer
]


def name(path: Path) -> str:
    return str(path.relative_to(FOLDER).with_suffix(""))


@pytest.mark.slow
@pytest.mark.parametrize("path", kept_paths(), ids=name)
def test_our_broker_answers_a_kept_conversation_as_kafka_did(
    path: Path, clusters: ReplayClusters
) -> None:
    kept = load(path)
    differences = [str(difference) for difference in replay(kept, clusters).differences]
    if kept.open_difference:
        assert differences, "this difference is gone: run scripts/compare --settle and commit"
        pytest.xfail(kept.open_difference)
    assert differences == []


@pytest.mark.parametrize("api_key", ADVERTISED)
def test_every_api_has_a_kept_sample(api_key: int) -> None:
    api = API_NAMES[ROUTES[api_key].api_key]
    path = SAMPLES / f"{api}.json"
    assert path.exists(), f"run scripts/compare --api {api} --keep and commit {path}"
    assert api in apis_with_answers(load(path))


@pytest.mark.parametrize("api", declared_checks())
def test_every_api_that_checks_its_clients_has_a_kept_conversation_about_it(api: str) -> None:
    path = FOLDER / "authorization" / f"{api}.json"
    assert path.exists(), f"run scripts/compare --acls --api {api} --keep and commit {path}"
    assert load(path).conversation.has_authorizer


def test_the_file_of_a_conversation_is_in_the_form_that_it_is_written_in(tmp_path: Path) -> None:
    for path in kept_paths():
        load(path).save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_text() == path.read_text(), name(path)


@pytest.mark.compare
@pytest.mark.xdist_group("jvm")
@pytest.mark.parametrize("path", KEPT_OF_ONE_BROKER, ids=name)
def test_kafka_still_answers_a_kept_conversation_in_the_same_way(
    path: Path, kafka: ComparedCluster
) -> None:
    assert_kafka_agrees(path, kafka)


@pytest.mark.compare
@pytest.mark.xdist_group("jvm")
@pytest.mark.parametrize("path", AUTHORIZED, ids=name)
def test_kafka_still_answers_clients_with_rules_in_the_same_way(
    path: Path, authorizing_kafka: ComparedCluster
) -> None:
    assert_kafka_agrees(path, authorizing_kafka)


def assert_kafka_agrees(path: Path, kafka: ComparedCluster) -> None:
    kept = load(path)
    answers = Play(kafka).run(kept.conversation).answers
    differences = compare(kept.conversation, kept.answers, answers, is_replay=True).differences
    assert [str(difference) for difference in differences] == []


@pytest.mark.compare
@pytest.mark.xdist_group("jvm")
@pytest.mark.parametrize("api_key", sorted(ROUTES))
def test_generated_conversations_of_an_api_have_no_new_difference(
    api_key: int, kafka: ComparedCluster, ours: ComparedCluster
) -> None:
    api = API_NAMES[ROUTES[api_key].api_key]
    versions = common_versions(kafka.api_versions(), ours.api_versions(), schemas())
    known = frozenset(kept_differences())
    if api not in versions:
        pytest.skip("Kafka does not serve it")
    report = Search(Pair(kafka, ours), Subject(api, versions), known).run(0, 10)
    assert [finding.signature for finding in report.findings] == []
    assert report.errors == []
