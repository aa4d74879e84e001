from itertools import permutations

import pytest

from broker.administration.broker_alteration import check_broker_alteration, parse_node_id
from broker.administration.config_operations import Alteration, Operation
from broker.config.broker_config import BrokerConfig
from broker.errors import Refusal
from protocol.configs import ConfigOperation, ResourceType
from protocol.errors import ErrorCode
from tests.broker.handlers.config_requests import new_cluster


@pytest.mark.parametrize(("name", "node_id"), [("7", 7), ("07", 7), ("+8", 8), ("-1", -1)])
def test_a_node_id_is_read_as_java_reads_it(name: str, node_id: int) -> None:
    assert parse_node_id(name) == node_id


@pytest.mark.parametrize(
    "name", ["", "seven", " 7", "7 ", "7_0", "\u0667", "2147483648", "9" * 5000]
)
def test_other_names_are_no_node_ids(name: str) -> None:
    assert parse_node_id(name) is None


RELEASES = ("2.6", "2.8", "3.9", "4.0", "4.1", "4.4")


@pytest.mark.parametrize(("before", "after"), list(permutations(RELEASES, 2)))
def test_a_running_broker_changes_between_any_two_releases(before: str, after: str) -> None:
    cluster = new_cluster(2, broker_api_versions=before)
    operations = (Operation("broker.api.versions", ConfigOperation.SET, after),)
    alteration = Alteration(ResourceType.BROKER, "1", operations, is_replacement=False)

    config = check_broker_alteration(cluster, 1, alteration)

    assert isinstance(config, BrokerConfig)
    assert config.for_broker(1)["broker.api.versions"] == (after,)
    assert config.for_broker(2)["broker.api.versions"] == (before,)


def set_all(*names: str, release: str = "4.4") -> BrokerConfig | Refusal:
    operations = tuple(Operation(name, ConfigOperation.SET, "1") for name in names)
    alteration = Alteration(ResourceType.BROKER, "1", operations, is_replacement=False)
    return check_broker_alteration(new_cluster(1, broker_api_versions=release), 1, alteration)


def test_fixed_keys_are_named_as_java_prints_a_set() -> None:
    assert set_all("broker.id", "node.id", "log.dirs") == Refusal(
        ErrorCode.INVALID_REQUEST,
        "Cannot update these configs dynamically: [node.id, broker.id, log.dirs]",
    )


def test_fixed_keys_are_named_as_scala_prints_a_set_in_older_releases() -> None:
    few = set_all("broker.id", "node.id", "log.dirs", release="4.1")
    many = set_all("broker.id", "node.id", "log.dirs", "log.dir", "num.partitions", release="4.1")

    assert few == Refusal(
        ErrorCode.INVALID_REQUEST,
        "Cannot update these configs dynamically: Set(node.id, broker.id, log.dirs)",
    )
    assert isinstance(many, Refusal)
    assert (many.message or "").startswith("Cannot update these configs dynamically: HashSet(")


def test_a_listener_may_have_its_own_key_of_tls() -> None:
    config = set_all("listener.name.ssl.ssl.key.password")

    assert isinstance(config, BrokerConfig)
    assert config.dynamic_layer(1) == {"listener.name.ssl.ssl.key.password": "1"}
