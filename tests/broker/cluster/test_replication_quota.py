from broker.cluster.replication_quota import Limit, ReplicationQuota

LEADER = Limit("leader", 1, 100)


def test_bytes_are_owed_until_their_time_is_over() -> None:
    quota = ReplicationQuota()
    assert not quota.owes(LEADER, 0)
    quota.charge(LEADER, 250)
    assert [quota.owes(LEADER, now_ms) for now_ms in (0, 1000, 2499, 2500)] == [True] * 3 + [False]


def test_brokers_and_their_sides_owe_separately() -> None:
    quota = ReplicationQuota()
    quota.owes(LEADER, 0)
    quota.charge(LEADER, 1)
    assert quota.owes(LEADER, 0)
    assert not quota.owes(Limit("follower", 1, 100), 0)
    assert not quota.owes(Limit("leader", 2, 100), 0)


def test_what_is_owed_at_another_rate_falls_at_that_rate() -> None:
    quota = ReplicationQuota()
    quota.owes(LEADER, 0)
    quota.charge(LEADER, 100_000)
    assert quota.owes(LEADER, 1000)
    assert not quota.owes(Limit("leader", 1, 100_000), 2000)
