import pytest

from broker.administration.config_alteration import alter_configs
from broker.administration.config_operations import Alteration, Operation
from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from protocol.configs import ConfigOperation, ResourceType
from protocol.errors import ErrorCode
from tests.broker.handlers.config_requests import new_cluster, overrides_of
from tests.broker.interleaving import at_pause, run_with_pauses


def test_a_later_resource_sees_what_an_earlier_one_changed() -> None:
    """Each limits the other: the cleaner may at most double its threads."""
    cluster = new_cluster(1)

    results = alter_configs(
        cluster,
        1,
        [
            Alteration(
                ResourceType.BROKER,
                name,
                (Operation("log.cleaner.threads", ConfigOperation.SET, text),),
                is_replacement=False,
            )
            for name, text in (("", "2"), ("1", "2"))
        ],
        validate_only=False,
    )

    assert results == [None, None]
    assert cluster.config.for_broker(1)["log.cleaner.threads"] == 2


def test_a_change_is_checked_before_another_is_carried_out() -> None:
    cluster = new_cluster()
    operations = (Operation("retention.ms", ConfigOperation.SET, "5"),)
    same = Alteration(ResourceType.TOPIC, "orders", operations, is_replacement=False)

    results = alter_configs(cluster, 1, [same, same], validate_only=False)

    refusal = Refusal(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    assert results == [refusal, refusal]
    assert overrides_of(cluster) == {}


def alter_one(cluster: Cluster, kind: int, name: str, *operations: Operation) -> Refusal | None:
    alteration = Alteration(kind, name, operations, is_replacement=False)
    (result,) = alter_configs(cluster, 1, [alteration], validate_only=False)
    return result


def test_groups_have_configurations_from_4_0_on() -> None:
    operation = Operation("share.auto.offset.reset", ConfigOperation.SET, "earliest")
    older = new_cluster(broker_api_versions="3.9")
    refusal = Refusal(ErrorCode.INVALID_REQUEST, "Unknown resource type 32")
    assert alter_one(older, ResourceType.GROUP, "g", operation) == refusal
    newer = new_cluster(broker_api_versions="4.0")
    assert alter_one(newer, ResourceType.GROUP, "g", operation) is None


@pytest.mark.parametrize(("release", "received"), [("4.0", 1), ("4.1", 2)])
def test_brokers_name_the_node_of_other_loggers_from_4_1_on(release: str, received: int) -> None:
    cluster = new_cluster(broker_api_versions=release)
    refusal = alter_one(cluster, ResourceType.BROKER_LOGGER, "2")
    assert refusal is not None
    assert refusal.message == f"Unexpected node id. Expected 1, but received {received}"


def test_an_unknown_operation_fails_nothing_behind_a_refused_one() -> None:
    """In Kafka's hash map `compression.type` comes before `file.delete.delay.ms`."""
    unknown = Operation("file.delete.delay.ms", -1, "1")
    appended = Operation("compression.type", ConfigOperation.APPEND, "gzip")
    cluster = new_cluster()
    refusal = alter_one(cluster, ResourceType.TOPIC, "orders", unknown, appended)
    assert refusal is not None
    assert refusal.error_code is ErrorCode.INVALID_CONFIG
    refusal = alter_one(cluster, ResourceType.TOPIC, "orders", unknown)
    assert refusal == Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)


@pytest.mark.parametrize("pause", range(1, 20))
def test_an_alteration_during_a_pause_is_not_lost(pause: int) -> None:
    cluster = new_cluster()

    def set_key(name: str, text: str) -> Refusal | None:
        operation = Operation(name, ConfigOperation.SET, text)
        return alter_one(cluster, ResourceType.TOPIC, "orders", operation)

    other = at_pause(pause, lambda: set_key("retention.ms", "5"))
    assert run_with_pauses(lambda: set_key("segment.ms", "7"), other) is None
    for _ in range(20):
        other()

    assert overrides_of(cluster) == {"retention.ms": "5", "segment.ms": "7"}
