"""A rule, a hook and the journal agree on what a request names, in every API and version."""

from copy import copy
from typing import Any
from uuid import UUID

import pytest

from broker.faults import fault_rule
from broker.faults.hook import hook_of
from broker.journal.rendering import JournalFilter, describe_line
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_response
from protocol.errors import ErrorCode
from protocol.request_targets import targets_in_schema
from tests.broker.connection_driver import request_frame
from tests.broker.faults.faulty_clients import Clients
from tests.broker.faults.requests import GROUP, TOPIC, sample_message

ID = "x"
TARGETS = {"topic": TOPIC, "group": GROUP, "transactional_id": ID}
VERSIONS = [
    (api_key, version, has_id)
    for api_key, route in sorted(ROUTES.items())
    for version in range(route.version_min, route.version_max + 1)
    for names in targets_in_schema(ApiKey(api_key), version)
    for has_id in {"transactional_id" in names, False}
    # `message_of` sets a transactional id for these alone.
    if not has_id or api_key in {ApiKey.FIND_COORDINATOR, ApiKey.INIT_PRODUCER_ID}
]


def message_of(api_key: int, version: int, topic_id: UUID, *, has_id: bool) -> Any:
    message = sample_message(api_key, version)
    if has_id and api_key == ApiKey.INIT_PRODUCER_ID:
        message.transactional_id = ID
    elif has_id:
        message.key, message.key_type, message.coordinator_keys = ID, 1, [ID]
    for name in ("topics", "topic_data"):
        for topic in getattr(message, name, None) or ():
            if hasattr(topic, "topic_id"):
                topic.topic_id = topic_id
    return message


@pytest.mark.parametrize(("api_key", "version", "has_id"), VERSIONS)
def test_the_journal_rules_and_a_hook_read_the_same_targets(
    api_key: int, version: int, has_id: bool
) -> None:
    counting = [fault_rule(delay_ms=0, **{name: value}) for name, value in TARGETS.items()]
    clients = Clients(*counting)
    faults, journal = clients.dispatcher.faults, clients.dispatcher.journal
    topic_id = clients.topic.topic_id
    seen: list[Any] = []
    faults.set_hook(hook_of(seen.append, faults.topic_name))
    journal.is_enabled = True
    names = {topic_id: TOPIC}
    clients.send(request_frame(message_of(api_key, version, topic_id, has_id=has_id), version, 1))
    assert clients.bugs == []
    matched = {
        name: state.match_count == 1 for name, state in zip(TARGETS, faults.rules(), strict=True)
    }
    (line,) = journal
    described = describe_line(line, names.get)
    for view in (described, seen[0]):
        assert {name: value in view[f"{name}s"] for name, value in TARGETS.items()} == matched
        assert sum(len(view[f"{name}s"]) for name in TARGETS) == sum(matched.values())
    for name in ("topic", "group"):
        found = JournalFilter(**{name: TARGETS[name]}).fits(line, names.get)  # type: ignore[arg-type]
        assert found is matched[name]


def test_a_request_without_a_matching_rule_is_handled_as_usual() -> None:
    clients = Clients(fault_rule(topic="other", drop="before_handling"))
    clients.send(request_frame(sample_message(ApiKey.METADATA, 9), 9, 7))
    assert (clients.ids(), clients.closed, clients.bugs) == ([7], [None], [])


def test_a_malformed_body_that_a_rule_decodes_closes_the_connection() -> None:
    clients = Clients(fault_rule(topic="other", drop="before_handling"))
    frame = bytearray(request_frame(sample_message(ApiKey.METADATA, 9), 9, 7))
    del frame[-4:]
    frame[:4] = (len(frame) - 4).to_bytes(4, "big")
    clients.send(bytes(frame))
    assert clients.bugs == []
    assert clients.closed[0] is not None
    assert clients.closed[0].startswith("undecodable METADATA v9")


# A Fetch in a session names only what has changed, and a rule sees all that it reads.


def fetch(
    clients: Clients,
    indexes: tuple[int, ...],
    session_id: int,
    epoch: int,
    version: int = 12,
    forgotten: tuple[int, ...] = (),
) -> Any:
    """Send a Fetch of partitions of the topic; returns its response."""
    message: Any = sample_message(ApiKey.FETCH, version)
    (topic,) = message.topics
    part = topic.partitions[0]
    topic.topic_id = clients.topic.topic_id
    topic.partitions = []
    for index in indexes:
        fetched = copy(part)
        fetched.partition, fetched.fetch_offset, fetched.current_leader_epoch = index, 0, -1
        topic.partitions.append(fetched)
    message.topics = [topic] if indexes else []
    message.session_id, message.session_epoch = session_id, epoch
    name, topic_id = clients.topic.name, clients.topic.topic_id
    message.forgotten_topics_data = [
        messages.FetchRequest.ForgottenTopic(
            topic=name, topic_id=topic_id, partitions=list(forgotten)
        )
    ]
    message.max_wait_ms = message.min_bytes = 0
    before = len(clients.written[0])
    clients.send(request_frame(message, version, 1))
    assert clients.bugs == []
    return decode_response(clients.written[0][before:], ApiKey.FETCH, version)


def part_errors(response: Any) -> dict[int, int]:
    return {
        part.partition_index: part.error_code
        for topic in response.responses
        for part in topic.partitions
    }


@pytest.mark.parametrize("version", [12, 13])
def test_a_rule_for_a_partition_matches_a_session_that_reads_it(version: int) -> None:
    clients = Clients()
    session_id = fetch(clients, (0, 1), 0, 0, version).session_id
    rule = fault_rule(
        api="Fetch", topic=TOPIC, partition=1, error="NOT_LEADER_OR_FOLLOWER", skip=1, times=1
    )
    clients.dispatcher.faults.add(rule, clients.now_ms)

    skipped = fetch(clients, (), session_id, 1, version)
    failed = fetch(clients, (), session_id, 2, version)
    again = fetch(clients, (0, 1), 0, 0, version)

    assert (skipped.session_id, skipped.responses) == (session_id, [])
    assert part_errors(failed) == {0: 0, 1: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert failed.session_id == 0
    assert clients.cluster.fetch_sessions[1].get(session_id) is None
    assert part_errors(again) == {0: 0, 1: 0}


@pytest.mark.parametrize("version", [11, 13])
def test_an_error_names_no_partition_that_the_fetch_removes_from_its_session(version: int) -> None:
    clients = Clients()
    session_id = fetch(clients, (0, 1), 0, 0, version).session_id
    rule = fault_rule(api="Fetch", error="NOT_LEADER_OR_FOLLOWER")
    clients.dispatcher.faults.add(rule, clients.now_ms)
    failed = fetch(clients, (), session_id, 1, version, forgotten=(1,))
    assert part_errors(failed) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_a_partial_error_of_a_full_fetch_opens_no_session() -> None:
    rule = fault_rule(api="Fetch", topic=TOPIC, partition=1, error="KAFKA_STORAGE_ERROR")
    clients = Clients(rule)
    response = fetch(clients, (0, 1), 0, 0)
    assert part_errors(response) == {0: 0, 1: ErrorCode.KAFKA_STORAGE_ERROR}
    assert response.session_id == 0


def test_a_rule_that_only_delays_leaves_the_session_alone() -> None:
    clients = Clients(fault_rule(api="Fetch", topic=TOPIC, delay_ms=0))
    session_id = fetch(clients, (0, 1), 0, 0).session_id
    assert fetch(clients, (), session_id, 1).session_id == session_id > 0
    assert clients.dispatcher.faults.rules()[0].match_count == 2
