"""A schedule is a list of valid rules for what a run was seen to send."""

from hypothesis import given
from hypothesis import strategies as st

from broker.faults.rule import FaultRule
from mock_kafka.exploration.choices import SeededChoices
from mock_kafka.exploration.disturbances import PROFILES
from mock_kafka.exploration.schedule import Seen, draw_schedule

APIS = sorted({api for profile in PROFILES.values() for kind in profile for api in kind.apis})
EVERYTHING = Seen(
    requests=dict.fromkeys(APIS, 5),
    client_ids=("service",),
    topics=("orders",),
    groups=("billing",),
    transactional_ids=("invoices",),
    brokers=3,
)


@given(seed=st.integers(0, 2**32), profile=st.sampled_from(sorted(PROFILES)))
def test_every_rule_is_valid(seed: int, profile: str) -> None:
    rules = draw_schedule(SeededChoices(seed), PROFILES[profile], EVERYTHING)
    assert 1 <= len(rules) <= 4
    for rule in rules:
        FaultRule.from_json(rule)


def test_equal_seeds_draw_equal_schedules() -> None:
    drawn = [draw_schedule(SeededChoices(7), PROFILES["producer"], EVERYTHING) for _ in range(2)]
    assert drawn[0] == drawn[1]


@given(seed=st.integers(0, 2**32), requests=st.integers(1, 4))
def test_rules_are_for_requests_that_the_run_sends(seed: int, requests: int) -> None:
    seen = Seen({"Produce": requests, "Metadata": 1}, client_ids=("service",))
    for rule in draw_schedule(SeededChoices(seed), PROFILES["producer"], seen):
        assert rule["api"] in seen.requests
        assert rule.get("skip", 0) <= seen.requests[rule["api"]]
        assert rule.get("client_id", "service") == "service"
        assert not {"leader", "stop_broker", "isolate_broker"} & rule.keys()


def test_a_run_that_no_disturbance_can_meet_has_no_schedule() -> None:
    seen = Seen({"ApiVersions": 1})
    assert draw_schedule(SeededChoices(0), PROFILES["admin"], seen) == []
