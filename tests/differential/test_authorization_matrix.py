"""What handlers declare to check is what they check, and the error of a denial is the declared one.

The conversations are those that Apache Kafka is compared with.
"""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from broker.authorization.authorizer import Authorizer
from broker.authorization.checks import Check
from broker.request.authorization import authorized_operations
from mock_kafka import MockKafka
from protocol.errors import ErrorCode
from tests.differential.authorization_matrix import declared_checks, matrix, selection
from tests.differential.authorization_requests import REQUESTS
from tests.differential.clusters import ComparedCluster, Setup, compared, our_config
from tests.differential.conversation import Conversation, Send
from tests.differential.player import Play
from tests.differential.search import common_versions, schemas

UNSTABLE_VERSIONS = {"unstable.api.versions.enable": "true"}
"""With them InitProducerId has the version of two-phase commits (KIP-939)."""
NAMES = {
    (int(check[0]), int(check[1])): check
    for checks in declared_checks().values()
    for check in checks
}
Calls = set[tuple[int, int]]
"""Operations and resource types that clients with rules were checked for."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ComparedCluster]:
    setup = Setup(rebalance_delay_ms=0, has_authorizer=True, config=UNSTABLE_VERSIONS)
    with MockKafka(in_process=True, config=our_config(setup)) as kafka:
        found = compared(kafka)
        found.warm_up()
        yield found


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """What the authorizer is noted while the test runs, except for lists of operations."""
    noted: Calls = set()
    for name in ("authorize", "authorize_by_resource_type"):
        monkeypatch.setattr(Authorizer, name, noting(getattr(Authorizer, name), noted))
    for module in list(sys.modules.values()):
        if getattr(module, "authorized_operations", None) is authorized_operations:
            monkeypatch.setattr(module, "authorized_operations", all_supported)
    return noted


def noting(ask: Any, noted: Calls) -> Any:
    def note(
        authorizer: Authorizer, principal: str, host: str, operation: int, kind: int, *rest: Any
    ) -> Any:
        if principal not in authorizer.super_users:
            noted.add((int(operation), int(kind)))
        return ask(authorizer, principal, host, operation, kind, *rest)

    return note


def all_supported(*arguments: Any) -> Any:
    """Return the supported operations without a question for each."""
    return arguments[-1]


def conversation_about(api: str, cluster: ComparedCluster) -> Conversation:
    own = cluster.api_versions()
    return selection(api, declared_checks()[api], common_versions(own, own, schemas()))


@pytest.mark.slow
@pytest.mark.parametrize("api", declared_checks())
def test_requests_are_checked_for_what_is_declared_and_nothing_else(
    api: str, cluster: ComparedCluster, calls: Calls
) -> None:
    Play(cluster).run(conversation_about(api, cluster))
    declared = {
        (int(check.operation), int(check.resource_type)) for check in declared_checks()[api]
    }
    assert {NAMES.get(call, call) for call in calls - declared} == set(), "not declared"
    assert {NAMES[call] for call in declared - calls} == set(), "declared, but never checked"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("api", "check"),
    [(api, check) for api, checks in declared_checks().items() for check in checks],
)
def test_a_denial_gives_the_declared_error(
    api: str, check: Check, cluster: ComparedCluster
) -> None:
    conversation = conversation_about(api, cluster)
    play = Play(cluster).run(conversation)
    answers = answers_by_client(conversation, play)
    clients = list(answers)
    position = [other[:2] for other in distinct(declared_checks()[api])].index(check[:2])
    denied = [answers[clients[0]], answers[clients[1 + position]]]
    if check.error_code == ErrorCode.NONE:
        assert denied != [answers[clients[-1]]] * 2
    else:
        assert check.error_code in error_codes(denied)


def distinct(checks: tuple[Check, ...]) -> list[Check]:
    return list({check[:2]: check for check in checks}.values())


def answers_by_client(conversation: Conversation, play: Play) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for step, answer in zip(conversation.steps, play.answers, strict=True):
        if isinstance(step, Send) and step.connection.startswith("u"):
            found.setdefault(step.connection, []).append(answer)
    return found


def error_codes(value: Any) -> set[int]:
    if isinstance(value, dict):
        own = {code for name, code in value.items() if name.endswith("error_code")}
        return own.union(*map(error_codes, value.values()))
    if isinstance(value, list):
        return set().union(*map(error_codes, value))
    return set()


def test_every_api_has_requests_that_name_resources() -> None:
    assert set(declared_checks()) <= set(REQUESTS)


def test_each_kind_of_rules_has_a_client_of_its_own(cluster: ComparedCluster) -> None:
    own = cluster.api_versions()
    versions = common_versions(own, own, schemas())
    checks = declared_checks()["Produce"]
    for conversations in matrix("Produce", checks, versions):
        for conversation in conversations:
            senders = [step.connection for step in conversation.steps if step.api == "Produce"]  # type: ignore[union-attr]
            assert len(set(senders) - {"a"}) == len(conversation.connections) - 1
