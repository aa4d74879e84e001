from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import call, make_cluster

VERSIONS = range(2)
P, C = "producer_byte_rate", "consumer_byte_rate"
OK, INVALID = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
_Entry = messages.AlterClientQuotasRequest.EntryData

Change = tuple[dict[str, str | None], dict[str, float | None]]


def alter(
    cluster: Cluster, *changes: Change, version: int = 1, validate_only: bool = False
) -> list[Any]:
    request = messages.AlterClientQuotasRequest(
        version=version,
        entries=[
            _Entry(
                entity=[_Entry.EntityData(entity_type=t, entity_name=n) for t, n in names.items()],
                ops=[
                    _Entry.OpData(key=key, value=value or 0.0, remove=value is None)
                    for key, value in values.items()
                ],
            )
            for names, values in changes
        ],
        validate_only=validate_only,
    )
    entries: list[Any] = call(cluster, request, version).entries
    return entries


def described(cluster: Cluster) -> Any:
    return cluster.quotas.clients.describe([], strict=False)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_changes_each_entity_alone(version: int) -> None:
    cluster = make_cluster(1)
    entries = alter(
        cluster,
        ({"client-id": "app", "user": "alice"}, {P: 1000.0, C: 2000.0}),
        ({"user": ""}, {P: 1.0}),
        ({"user": None}, {"bad": 1.0}),
        ({"ip": "127.0.0.1"}, {"connection_creation_rate": 5.0}),
        version=version,
    )

    # The order is that of Kafka's hash maps.
    assert [
        (
            [(part.entity_type, part.entity_name) for part in entry.entity],
            entry.error_code,
            entry.error_message,
        )
        for entry in entries
    ] == [
        ([("client-id", "app"), ("user", "alice")], OK, None),
        ([("ip", "127.0.0.1")], OK, None),
        ([("user", "")], INVALID, "Empty user not supported"),
        ([("user", None)], INVALID, "Invalid configuration key bad"),
    ]
    assert dict(described(cluster)) == {
        (("user", "alice"), ("client-id", "app")): {P: 1000, C: 2000},
        (("ip", "127.0.0.1"),): {"connection_creation_rate": 5},
    }


def test_a_key_that_occurs_twice_is_refused_as_kafka_does() -> None:
    cluster = make_cluster(1)
    entity = _Entry.EntityData(entity_type="user", entity_name="a")
    ops = [_Entry.OpData(key=P, value=value, remove=False) for value in (1.0, 2.0)]
    request = messages.AlterClientQuotasRequest(
        version=1, entries=[_Entry(entity=[entity], ops=ops)], validate_only=False
    )
    (entry,) = call(cluster, request, 1).entries

    message = "Ignoring duplicate entity ClientQuotaEntity(entries={user=a})"
    assert (entry.error_code, entry.error_message) == (INVALID, message)
    assert described(cluster) == []


def test_a_key_can_be_removed() -> None:
    cluster = make_cluster(1)
    alter(cluster, ({"user": "a"}, {P: 1.0, C: 2.0}))
    (entry,) = alter(cluster, ({"user": "a"}, {P: None, "never heard of": None}))

    assert entry.error_code == OK
    assert described(cluster) == [((("user", "a"),), {C: 2})]


def test_a_duplicate_entity_is_refused_but_changed_by_its_first_occurrence() -> None:
    cluster = make_cluster(1)
    entries = alter(cluster, ({"user": "a"}, {P: 1.0}), ({"user": "a"}, {P: 2.0}))

    assert [entry.error_code for entry in entries] == [INVALID]
    assert described(cluster) == [((("user", "a"),), {P: 1})]


def test_validate_only_changes_no_quota() -> None:
    cluster = make_cluster(1)
    entries = alter(
        cluster, ({"user": "a"}, {P: 1.0}), ({"user": "b"}, {P: 0.5}), validate_only=True
    )

    assert sorted(entry.error_code for entry in entries) == [OK, INVALID]
    assert described(cluster) == []


def test_a_change_applies_from_the_next_decision_on_every_broker() -> None:
    cluster = make_cluster(2)
    alter(cluster, ({"user": "a"}, {P: 1000.0}))

    assert cluster.quotas.brokers[2].produce.record("a", "c", 20_000, 0) == 10_000
    alter(cluster, ({"user": "a"}, {P: 2000.0}))
    assert cluster.quotas.brokers[2].produce.record("a", "c", 0, 0) == 0


def test_controller_mutations_rate_is_refused_with_the_correct_name() -> None:
    (entry,) = alter(make_cluster(1), ({"user": "a"}, {"controller_mutations_rate": 1.0}))

    assert entry.error_code == INVALID
    assert "it is controller_mutation_rate" in entry.error_message


@pytest.mark.parametrize(
    ("release", "entity", "key", "problem"),
    [
        ("2.6", {"user": "a"}, "controller_mutation_rate", "Invalid configuration key"),
        ("2.7", {"user": "a"}, "controller_mutation_rate", None),
        ("2.6", {"ip": "127.0.0.1"}, "connection_creation_rate", "Unhandled client quota entity"),
        ("2.7", {"ip": "127.0.0.1"}, "connection_creation_rate", "Unhandled client quota entity"),
        ("2.8", {"ip": "127.0.0.1"}, "connection_creation_rate", None),
        ("2.6", {"user": "a"}, P, None),
        ("2.6", {"user": "a"}, "request_percentage", None),
        ("2.6", {"user": "a"}, "producer_ids_rate", None),
        ("2.6,Produce=7", {"user": "a"}, "controller_mutation_rate", "Invalid configuration key"),
        ("Produce=7", {"user": "a"}, "controller_mutation_rate", None),
    ],
)
def test_a_broker_that_emulates_a_release_refuses_newer_keys(
    release: str, entity: dict[str, str | None], key: str, problem: str | None
) -> None:
    cluster = make_cluster(1, **{"broker.api.versions": release})
    (entry,) = alter(cluster, (entity, {key: 5.0}), version=0)

    assert entry.error_code == (OK if problem is None else INVALID)
    assert (entry.error_message or "").startswith(problem or "")
    assert len(described(cluster)) == (1 if problem is None else 0)


def test_a_broker_that_emulates_2_6_removes_an_unknown_key() -> None:
    cluster = make_cluster(1, **{"broker.api.versions": "2.6"})
    (entry,) = alter(cluster, ({"user": "a"}, {"controller_mutation_rate": None}), version=0)

    assert entry.error_code == OK
