"""What was changed of a cluster at run time is in a snapshot, and is loaded."""

from typing import Any

import msgspec
import pytest

from broker.administration.config_alteration import alter_configs
from broker.administration.config_operations import Alteration, Operation
from broker.administration.feature_update import FeatureUpdate, UpgradeType, update_features
from broker.cluster.brokers import Availability
from broker.cluster.failover import fence_broker, isolate_broker, stop_broker
from broker.config.api_versions import release_of
from broker.config.features import TRANSACTION_VERSION
from broker.http_admin.operation import Problem
from broker.http_admin.service import ResetBody, reset
from broker.http_admin.state import Admin
from broker.security.delegation_tokens import USER_TYPE, Principal
from protocol.configs import ConfigOperation, ResourceType
from tests.broker.cluster_builder import CLUSTER_ID, NOW_MS
from tests.broker.http_admin.admin_server import make_admin
from tests.broker.http_admin.snapshots import document_of, load


def alter(admin: Admin, kind: ResourceType, resource: str, name: str, text: str) -> None:
    operation = Operation(name, ConfigOperation.SET, text)
    alteration = Alteration(kind, resource, (operation,), is_replacement=False)
    node_id = int(resource) if resource.isdecimal() else 1
    assert alter_configs(admin.cluster, node_id, [alteration], validate_only=False) == [None]


async def test_a_cluster_at_its_start_has_nothing_to_save() -> None:
    document = msgspec.json.decode(await document_of(make_admin(3)))
    for part in ("features", "brokers", "configs", "topics", "groups", "delegation_tokens"):
        assert not document[part], part
    assert document["cluster_id"] == CLUSTER_ID


async def test_configurations_and_features_are_those_that_were_changed() -> None:
    admin = make_admin(3)
    alter(admin, ResourceType.BROKER, "", "log.retention.ms", "123")
    alter(admin, ResourceType.BROKER, "2", "max.connections", "7")
    alter(admin, ResourceType.GROUP, "g", "consumer.session.timeout.ms", "50000")
    alter(admin, ResourceType.CLIENT_METRICS, "m", "interval.ms", "1000")
    release = release_of(admin.cluster.shared_config)
    update = FeatureUpdate(TRANSACTION_VERSION, 1, UpgradeType.SAFE_DOWNGRADE)
    update_features(admin.cluster, [update], release, validate_only=False)
    document = await document_of(admin)
    other = make_admin(3)
    await load(other, document)
    assert other.cluster.config == admin.cluster.config
    assert other.cluster.features.levels == admin.cluster.features.levels
    assert await document_of(other) == document


async def test_brokers_that_are_not_up_are_not_up_again() -> None:
    admin = make_admin(4)
    stop_broker(admin.cluster, 1, NOW_MS)
    isolate_broker(admin.cluster, 2, NOW_MS)
    fence_broker(admin.cluster, 3, NOW_MS)
    other = make_admin(4)
    await load(other, await document_of(admin))
    found = {n: (b.is_alive, b.availability) for n, b in other.cluster.brokers.items()}
    assert found == {
        1: (False, Availability.DOWN),
        2: (True, Availability.ISOLATED),
        3: (False, Availability.UP),
        4: (True, Availability.UP),
    }
    assert other.cluster.controller_id == 2


async def test_no_producer_id_is_given_out_twice() -> None:
    admin = make_admin(3)
    given = [admin.cluster.producer_ids.next_id(node_id) for node_id in (1, 2, 1)]
    other = make_admin(3)
    await load(other, await document_of(admin))
    assert other.cluster.producer_ids.next_id(1) > max(given)


async def test_a_delegation_token_is_proved_by_the_same_key() -> None:
    overrides = {"delegation.token.secret.key": "secret"}
    admin = make_admin(3, **overrides)
    alice = Principal(USER_TYPE, "alice")
    token = admin.cluster.delegation_tokens.create(alice, alice, (), 0, NOW_MS)
    document = await document_of(admin)
    assert b"secret" not in document
    other = make_admin(3, **overrides)
    await load(other, document)
    again = other.cluster.delegation_tokens.find(token.token_id)
    assert again is not None
    assert (again.hmac, again.owner, again.expiry_timestamp_ms) == (
        token.hmac,
        alice,
        token.expiry_timestamp_ms,
    )


async def test_the_id_of_the_cluster_is_taken_until_the_next_reset_if_it_is_asked_for() -> None:
    admin = make_admin(3)
    document: dict[str, Any] = {"cluster_id": "another"}
    await load(admin, document)
    assert admin.cluster.cluster_id == CLUSTER_ID
    await load(admin, document, cluster_id=True)
    assert admin.cluster.cluster_id == "another"
    await reset(admin, ResetBody())
    assert admin.cluster.cluster_id == CLUSTER_ID


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"features": {"none": 1}}, "features: INVALID_UPDATE_VERSION"),
        ({"brokers": [{"node_id": 9, "is_alive": False, "availability": "up"}]}, "no broker 9"),
        (
            {"configs": [{"resource_type": "broker", "resource_name": "9", "config": {}}]},
            "no broker 9",
        ),
        (
            {"configs": [{"resource_type": "group", "resource_name": "g", "config": {"a": "b"}}]},
            "configs: group 'g': INVALID_",
        ),
        (
            {
                "delegation_tokens": [
                    {
                        "token_id": "t",
                        "owner": "a",
                        "requester": "a",
                        "renewers": [],
                        "issue_timestamp": 1,
                        "max_timestamp": 2,
                        "expiry_timestamp": 2,
                    }
                ]
            },
            r"no delegation\.token\.secret\.key",
        ),
    ],
)
async def test_what_the_cluster_refuses_is_refused_with_its_reason(
    document: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Problem, match=reason):
        await load(make_admin(3), document)
