from atlas.steps import Session
from atlas.warm_up import plain
from atlas.workloads import WORKLOADS


def test_there_is_a_plain_situation_of_each_workload() -> None:
    for workload in WORKLOADS:
        situation = plain(workload)
        assert (situation.faults, situation.quotas, situation.advance_s) == ((), (), ())
        assert set(situation.records) <= set(situation.topics)
        first = next(WORKLOADS[workload](Session(situation.arguments)))
        assert first.phase == "main"


def test_a_plain_situation_has_what_a_test_gives_it() -> None:
    assert plain("produce", arguments={"records": 1}).arguments == {"records": 1}
    assert plain("consume").records == {"orders": 4}
