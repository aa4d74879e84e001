"""The response that completes an event depends on the behaviour; errors have Kafka's names."""

from loadgen.analysis.verdicts import error_label, lateness_verdict, main_api
from loadgen.plan.plan import Plan, Tenant


def test_the_api_that_completes_an_event_is_that_of_the_behaviour() -> None:
    found = {
        behaviour: main_api(Tenant("a", behaviour))
        for behaviour in ("steady", "topic-creator", "consumer-group", "admin", "transactional")
    }
    assert list(found.values()) == ["Produce", "CreateTopics", "Fetch", "any", "EndTxn"]
    assert main_api(Tenant("a", "transactional", transactions=False)) == "Produce"


def test_an_error_has_the_name_of_kafka() -> None:
    assert [error_label(code) for code in (None, 0, 46)] == [
        "", "NONE", "DUPLICATE_SEQUENCE_NUMBER",
    ]  # fmt: skip


def test_the_p99_of_the_lateness_is_judged_by_the_limit_of_the_plan() -> None:
    plan = Plan(name="p", duration_s=1.0, tenants=(Tenant("a", "steady"),), lateness_p99_ms=2.0)
    found = [lateness_verdict(plan, times) for times in (None, [9000.0, 2000.0], [0.0, 2001.0])]
    assert [verdict.verdict for verdict in found] == ["not checked", "passed", "failed"]
