from broker.administration.config_alteration import alter_configs
from broker.administration.config_operations import Alteration, Operation
from broker.errors import Refusal
from protocol.configs import ConfigOperation, ResourceType
from protocol.errors import ErrorCode
from tests.broker.handlers.config_requests import new_cluster, overrides_of


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
