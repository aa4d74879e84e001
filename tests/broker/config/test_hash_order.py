from hypothesis import given
from hypothesis import strategies as st

from broker.config.hash_order import in_hash_order

# As Apache Kafka 4.1 describes a group.
GROUP_KEYS = [
    "consumer.session.timeout.ms",
    "streams.heartbeat.interval.ms",
    "share.auto.offset.reset",
    "share.record.lock.duration.ms",
    "consumer.heartbeat.interval.ms",
    "share.session.timeout.ms",
    "share.isolation.level",
    "streams.session.timeout.ms",
    "share.heartbeat.interval.ms",
    "streams.num.standby.replicas",
]


def test_keys_come_in_the_order_of_kafka() -> None:
    assert in_hash_order(sorted(GROUP_KEYS)) == GROUP_KEYS


def test_a_larger_table_has_another_order() -> None:
    names = [*GROUP_KEYS, *(f"k{number}" for number in range(30))]

    ordered = in_hash_order(names)

    assert [name for name in ordered if name in GROUP_KEYS] != GROUP_KEYS


@given(st.sets(st.text(max_size=10), max_size=40))
def test_every_name_stays(names: set[str]) -> None:
    assert sorted(in_hash_order(names)) == sorted(names)
