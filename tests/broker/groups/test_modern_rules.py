"""What groups whose coordinator assigns do differently from a release of Kafka on."""

from hypothesis import given
from hypothesis import strategies as st

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


@given(st.integers(1, 10_000), st.integers(0, 5_000), st.integers(0, 20_000), st.integers(1, 4))
def test_targets_are_computed_once_in_an_interval_since_kafka_4_3(
    assignment_ms: int, interval_ms: int, now_ms: int, minor: int
) -> None:
    rules = rules_of((4, minor))
    is_over = minor < 3 or not interval_ms or now_ms - assignment_ms >= interval_ms
    assert rules.may_assign(assignment_ms, interval_ms, now_ms) == is_over
    assert rules.may_assign(0, interval_ms, now_ms)


def test_the_default_release_decides_unless_another_one_is_asked_for() -> None:
    assert default_rules() == rules_of(DEFAULT_RELEASE)
