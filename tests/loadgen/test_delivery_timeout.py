"""Whatever becomes of a batch, its caller hears of it when its time is over (KIP-91)."""

from mock_kafka import MockKafka
from tests.loadgen.runs import endings, of_api, plan_of, run

# A busy machine's timers are late; a promise that isn't kept at all is late by more.
TICK_US = 500_000


def test_a_batch_that_no_broker_takes_is_told_at_its_deadline() -> None:
    plan = plan_of(
        "[{name: a, behaviour: delivery-timeout, topic: t, clients: 2, rate: 20,"
        " delivery_timeout_ms: 300}]"
    )
    with MockKafka(config={"min.insync.replicas": 2}) as kafka:  # of topics with one replica
        produce = of_api(run(plan, kafka.bootstrap_servers), "Produce")
    expired = [row for row in produce if row["status"] == "expired"]
    assert sorted(row["event_id"] for row in expired) == list(range(10))
    for row in expired:
        late_us = row["answered_us"] - row["handed_us"] - 300_000
        assert -1_000 <= late_us < TICK_US
    tries = [row for row in produce if row["status"] == "answered"]
    assert {row["error_code"] for row in tries} == {19}
    assert max(row["attempt"] for row in tries) > 1


def test_a_batch_that_is_taken_does_not_expire(servers: str) -> None:
    plan = plan_of(
        "[{name: a, behaviour: delivery-timeout, topic: t, clients: 2, rate: 40,"
        " delivery_timeout_ms: 400}]"
    )
    assert endings(of_api(run(plan, servers), "Produce")) == {("answered", "new", 0): 20}
