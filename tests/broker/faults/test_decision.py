"""The actions of all rules that fire on a request are combined."""

from broker.faults.decision import FaultDecision
from broker.faults.rule import FaultRule, fault_rule
from broker.faults.table import FaultTable
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context
from tests.broker.faults.requests import TOPIC, sample_request


def decision_of(*rules: FaultRule) -> FaultDecision:
    cluster = make_cluster()
    cluster.create_topic(TOPIC, [(1,), (2,)], {})
    table = FaultTable(cluster)
    table.add_all(rules, NOW_MS)
    decision = table.evaluate(
        make_context(ApiKey.METADATA, 9), lambda: sample_request(ApiKey.METADATA, 9)
    )
    assert decision is not None
    return decision


def test_delays_add_up_and_the_longest_throttle_and_lowest_rate_apply() -> None:
    decision = decision_of(
        fault_rule(delay_ms=5, throttle_time_ms=70, mute=False, bytes_per_second=100),
        fault_rule(delay_ms=6, delay_request_ms=7, throttle_time_ms=60, bytes_per_second=90),
    )
    assert (decision.delay_ms, decision.delay_request_ms) == (11, 7)
    assert (decision.throttle_time_ms, decision.mute, decision.bytes_per_second) == (70, True, 90)


def test_the_rules_that_falsify_a_response_are_named_by_id() -> None:
    decision = decision_of(
        fault_rule(delay_ms=1, throttle_time_ms=1),
        fault_rule(corrupt_bytes=1),
        fault_rule(error="NOT_LEADER_OR_FOLLOWER"),
        fault_rule(announce_bytes=1),
        fault_rule(api="Metadata", response={}),
    )
    # The last rule was skipped: an error decided before it.
    assert decision.falsifying_rule_ids == (2, 4)
