from broker.request.mutation_quota import QUOTA_EXCEEDED, MutationQuota
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context

QUOTAS = {"client.quotas": "user=alice,controller_mutation_rate=1"}


def test_a_strict_quota_refuses_mutations_after_the_bucket_is_below_zero() -> None:
    cluster = make_cluster(1, **QUOTAS)
    context = make_context(ApiKey.CREATE_TOPICS, 7, principal="alice")
    quota = MutationQuota(cluster, context, is_strict=True)

    assert [quota.charge(12), quota.charge(1)] == [None, QUOTA_EXCEEDED]
    quota.settle(NOW_MS)
    assert context.throttle_time_ms == 1000
    assert context.throttled_by is cluster.quotas.controller_mutation


def test_the_mutation_that_empties_the_bucket_is_not_throttled() -> None:
    cluster = make_cluster(1, **QUOTAS)
    context = make_context(ApiKey.CREATE_TOPICS, 7, principal="alice")
    quota = MutationQuota(cluster, context, is_strict=True)
    quota.charge(12)
    quota.settle(NOW_MS)

    assert context.throttle_time_ms == 0


def test_a_permissive_quota_throttles_and_never_shortens_another_throttle() -> None:
    cluster = make_cluster(1, **QUOTAS)
    for before_ms, after_ms in ((0, 1000), (5000, 5000)):
        context = make_context(ApiKey.CREATE_TOPICS, 5, principal="alice")
        context.throttle(before_ms, cluster.quotas.brokers[1].request, NOW_MS)
        quota = MutationQuota(cluster, context, is_strict=False)
        assert quota.charge(12 if before_ms == 0 else 0) is None
        quota.settle(NOW_MS)

        assert context.throttle_time_ms == after_ms


def test_other_clients_are_not_throttled() -> None:
    context = make_context(ApiKey.CREATE_TOPICS, 7, principal="bob")
    quota = MutationQuota(make_cluster(1, **QUOTAS), context, is_strict=True)

    assert [quota.charge(1000), quota.charge(1000)] == [None, None]
    quota.settle(NOW_MS)
    assert context.throttle_time_ms == 0
