"""The caches of all connections use the same parts of the dispatcher, and the same runs."""

from typing import Any

from broker.dispatch.produce_services import ProduceServices
from tests.broker.dispatch.produce_runs import Produce, Run, run


def test_the_caches_of_all_connections_share_the_parts_of_their_dispatcher() -> None:
    made = Run()
    made.do(Produce(count=3))
    made.do(Produce(connection=1, count=3))
    first, second, _ = (connection._produce_cache for connection in made.connections)
    assert first is not None
    assert second is not None

    services = first._services

    assert isinstance(services, ProduceServices)
    assert second._services is services
    assert services.cluster is made.cluster
    assert services.faults is made.dispatcher.faults
    assert services.journal is made.dispatcher.journal
    assert services.acknowledgements is made.dispatcher.acknowledgements


def runs_of(made: Run) -> list[Any]:
    """Return the run of each connection that has one."""
    caches = [connection._produce_cache for connection in made.connections]
    return [cache._run for cache in caches if cache is not None]


def test_connections_that_send_the_same_share_a_run() -> None:
    made = Run()
    for number in (0, 1):
        for _ in range(3):
            made.do(Produce(connection=number, count=3))
    first, second = runs_of(made)

    assert first is second
    topic = made.cluster.topics.get("t")
    assert topic is not None
    assert topic.partitions[0].log.log_end_offset == 2 * 3 * 3


def test_connections_that_send_something_else_share_none() -> None:
    others = ({"client_id": "other"}, {"acks": 1}, {"indexes": (1,)}, {"version": 10})
    for other in others:
        made = Run()
        for _ in range(3):
            made.do(Produce(count=3))
            made.do(Produce(connection=1, count=3, **other))
        first, second = runs_of(made)
        assert first is not second


def test_a_run_from_before_a_change_is_not_shared() -> None:
    made = Run()
    for _ in range(3):
        made.do(Produce(count=3))
    made.do(("delete", "t"))
    made.do(("create", "t"))
    for _ in range(3):
        made.do(Produce(connection=1, count=3))
    first, second = runs_of(made)

    assert first is not second
    assert len(made.dispatcher._produce_services.runs) == 1


def test_a_run_ends_with_its_last_connection() -> None:
    made = Run()
    for number in (0, 1):
        for _ in range(3):
            made.do(Produce(connection=number, count=3))
    runs = made.dispatcher._produce_services.runs
    assert len(runs) == 1

    made._connect(0)
    assert len(runs) == 1
    made._connect(1)
    assert not runs


def test_a_producer_that_goes_to_other_partitions_does_not_lead_others_astray() -> None:
    steps = [Produce(connection=number, count=3) for number in (0, 1) for _ in range(3)]
    for index in (1, 0, 1):
        steps += [Produce(indexes=(index,)), Produce(connection=1), Produce(connection=1, count=2)]

    ends = [len(batches) for batches, *_rest in run(steps)["logs"][:2]]

    assert ends == [18 + 1 + 3 * 3, 2]
