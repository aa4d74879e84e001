"""What groups whose coordinator assigns do differently from a release of Kafka on."""

from broker.groups.modern_rules import default_rules, rules_of
from protocol.releases import DEFAULT_RELEASE


def test_partitions_have_epochs_since_kafka_4_3() -> None:
    known = {minor: rules_of((4, minor)).has_partition_epochs for minor in range(1, 5)}
    assert known == {1: False, 2: False, 3: True, 4: True}


def test_a_member_joins_again_at_once_since_kafka_4_2() -> None:
    assert not rules_of((4, 1)).can_rejoin_at_once
    assert rules_of((4, 2)).can_rejoin_at_once


def test_epochs_begin_at_one_since_kafka_4_3() -> None:
    assert [rules_of((4, minor)).first_epoch for minor in range(1, 5)] == [0, 0, 1, 1]


def test_the_default_release_decides_unless_another_one_is_asked_for() -> None:
    assert default_rules() == rules_of(DEFAULT_RELEASE)
