import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.faults.rule import FaultRule
from scenarios.delivery_timeout.phases import PHASES, Phase, rules


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.name)
def test_every_trouble_is_a_rule_for_one_client_or_its_topic_alone(phase: Phase) -> None:
    rule = FaultRule.from_json(rules(phase, "topic", "client", 1_000))
    assert rule.match.topic == "topic" if rule.trigger.at_once else rule.match.client_id == "client"


def test_the_throttle_is_longer_than_the_deadline() -> None:
    (throttled,) = [phase for phase in PHASES if phase.name == "throttled"]
    assert rules(throttled, "topic", "client", 700)["throttle_time_ms"] == 3_500


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.name)
def test_the_judged_record_is_one_of_the_records(phase: Phase) -> None:
    assert 0 <= phase.judged < phase.records
