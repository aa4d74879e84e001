import pytest

from atlas.steps import Session
from atlas.workloads import WORKLOADS
from tests.atlas.scripted_replies import failing, follow, names

AFTERWARDS = ["heal", "send afterwards", "flush afterwards", "close close"]


def run(workload: str, *failures: str, **arguments: object) -> tuple[list[str], Session]:
    session = Session(arguments, {"orders": 2})
    steps = follow(WORKLOADS[workload](session), session, failing(*failures))
    return names(steps), session


@pytest.mark.parametrize(
    ("workload", "arguments", "main"),
    [
        ("produce", {"records": 2}, ["send", "send", "flush"]),
        ("produce_each", {"records": 2}, ["send", "flush", "send", "flush"]),
        ("produce_idle", {}, ["send", "flush", "sleep", "send", "flush"]),
        ("batches", {"batches": 2, "records": 2}, ["send"] * 4 + ["flush"]),
    ],
)
def test_workloads_of_producers(
    workload: str, arguments: dict[str, object], main: list[str]
) -> None:
    found, session = run(workload, **arguments)
    assert found == ["producer", *main, *AFTERWARDS]
    assert session.is_usable


def test_a_service_that_restarts_opens_one_producer_after_the_other() -> None:
    session = Session({"producers": 2}, {"orders": 1})
    steps = follow(WORKLOADS["producers"](session), session)
    first, last = ["producer", "send", "flush", "close"], ["producer", "send", "flush"]
    assert names(steps) == [*first, *last, *AFTERWARDS]
    used = [step.arguments.get("id") or step.arguments.get("producer") for step in steps]
    assert used == ["p0"] * 4 + ["p1"] * 3 + [None] + ["p1"] * 3
    sends = [step.arguments["value"] for step in steps if step.name == "send"]
    assert sends == ["0", "1", "after"]
    assert session.is_usable


def test_records_have_values_of_their_own_and_go_round_the_partitions() -> None:
    session = Session({"records": 3, "value_bytes": 4}, {"orders": 2})
    steps = follow(WORKLOADS["produce"](session), session)
    sends = [step.arguments for step in steps if step.name == "send" and step.phase == "main"]
    assert [one["value"] for one in sends] == ["0...", "1...", "2..."]
    assert [one["partition"] for one in sends] == [0, 1, 0]


def test_a_producer_that_cannot_be_made_is_not_asked_again() -> None:
    found, session = run("produce", "producer")
    assert (found, session.is_usable) == (["producer"], None)


def test_a_producer_that_fails_afterwards_is_not_usable() -> None:
    found, session = run("produce", "send")
    assert found[-1] == "close close"
    assert session.is_usable is False


def test_a_topic_is_created_and_another_one_afterwards() -> None:
    found, session = run("create_topic")
    assert found == ["admin", "create_topic", "heal", "create_topic afterwards", "close close"]
    assert session.is_usable


def test_an_admin_call_has_the_other_arguments_as_fields() -> None:
    session = Session({"call": "alter_config", "topic": "orders", "config": {"a": 1}})
    steps = follow(WORKLOADS["admin"](session), session)
    call = next(step for step in steps if step.name == "alter_config")
    assert call.arguments == {
        "admin": "a",
        "topic": "orders",
        "config": {"a": "1"},
        "timeout_ms": session.call_ms,
    }
    assert names(steps)[-3:] == ["heal", "list_topics afterwards", "close close"]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_workload_heals_the_cluster_before_it_asks_the_client_again(workload: str) -> None:
    found, _ = run(workload)
    phases = [name.partition(" ")[2] for name in found]
    heal = found.index("heal")
    assert set(phases[:heal]) <= {"", "close"}
    assert "afterwards" in phases[heal:]
    assert phases[-1] == "close"


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_workload_ends_if_nothing_works(workload: str) -> None:
    found, session = run(workload, "producer", "consumer", "share_consumer", "streams", "admin")
    assert len(found) == 1
    assert not session.is_usable
