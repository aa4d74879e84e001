from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import call, make_cluster

VERSIONS = range(2)
EXACT, DEFAULT, ANY = range(3)
QUOTAS = (
    "user=alice,producer_byte_rate=1000,request_percentage=12.5;"
    "user=<default>,client-id=app,consumer_byte_rate=2000;"
    "ip=127.0.0.1,connection_creation_rate=5"
)


def ask(
    cluster: Cluster, *components: tuple[str, int, str | None], strict: bool = False, version: int
) -> Any:
    component = messages.DescribeClientQuotasRequest.ComponentData
    request = messages.DescribeClientQuotasRequest(
        version=version,
        components=[
            component(entity_type=kind, match_type=match_type, match=name)
            for kind, match_type, name in components
        ],
        strict=strict,
    )
    return call(cluster, request, version)


def entities_of(response: Any) -> list[tuple[dict[str, str | None], dict[str, float]]]:
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, "")
    return [
        (
            {component.entity_type: component.entity_name for component in entry.entity},
            {value.key: value.value for value in entry.values},
        )
        for entry in response.entries
    ]


ALICE = ({"user": "alice"}, {"producer_byte_rate": 1000, "request_percentage": 12.5})
APP = ({"user": None, "client-id": "app"}, {"consumer_byte_rate": 2000})
ADDRESS = ({"ip": "127.0.0.1"}, {"connection_creation_rate": 5})


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_returns_the_quotas_of_each_entity(version: int) -> None:
    cluster = make_cluster(1, **{"client.quotas": QUOTAS})

    assert entities_of(ask(cluster, version=version)) == [ALICE, APP, ADDRESS]
    assert entities_of(ask(cluster, ("user", EXACT, "alice"), version=version)) == [ALICE]
    assert entities_of(ask(cluster, ("user", DEFAULT, None), version=version)) == [APP]
    assert entities_of(ask(cluster, ("user", ANY, None), version=version)) == [ALICE, APP]
    assert entities_of(ask(cluster, ("user", ANY, None), strict=True, version=version)) == [ALICE]
    assert entities_of(ask(cluster, ("ip", ANY, None), version=version)) == [ADDRESS]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("component", "error_code"),
    [
        (("user", EXACT, None), ErrorCode.INVALID_REQUEST),
        (("user", 9, None), ErrorCode.INVALID_REQUEST),
        (("group", EXACT, "a"), ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_an_invalid_filter_gets_an_error_and_no_entries(
    version: int, component: tuple[str, int, str | None], error_code: ErrorCode
) -> None:
    response = ask(make_cluster(1), component, version=version)

    assert response.error_code == error_code
    assert response.error_message
    assert response.entries is None


def test_the_client_id_of_an_entity_comes_before_its_user() -> None:
    response = ask(
        make_cluster(1, **{"client.quotas": QUOTAS}), ("client-id", ANY, None), version=1
    )

    (entry,) = response.entries
    assert [part.entity_type for part in entry.entity] == ["client-id", "user"]


def test_a_filter_keeps_the_order_of_all_entities() -> None:
    """The order is the one that `ClientQuotasImage` of Kafka 4.1.0 answers with."""
    quotas = ";".join(
        f"user=order-{n},{'' if n % 3 else 'client-id=app,'}producer_byte_rate=1" for n in range(14)
    )
    cluster = make_cluster(1, **{"client.quotas": quotas})

    def order(entity_type: str) -> str:
        found = entities_of(ask(cluster, (entity_type, ANY, None), version=1))
        names = (entity["user"] or "" for entity, _values in found)
        return " ".join(name.removeprefix("order-") for name in names)

    assert order("user") == "3 1 5 4 7 8 2 6 12 13 0 10 11 9"
    assert order("client-id") == "3 6 12 0 9"
