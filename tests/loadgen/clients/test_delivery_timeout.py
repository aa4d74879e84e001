"""The producer reports each batch within its delivery timeout (KIP-91)."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from loadgen import clock
from loadgen.clients.delivery_timeout import DeliveryTimeout
from loadgen.clients.load_client import Event
from loadgen.plan.plan import Tenant
from mock_kafka import MockKafka
from tests.loadgen.runs import Row, endings, of_api, plan_of, run
from tests.loadgen.stubs import rows_of, run_of

pytestmark = pytest.mark.slow

# Timers of a busy machine are late, but by less than this.
TICK_US = 500_000


@pytest.mark.slow
def test_a_batch_that_no_broker_stores_expires_at_its_deadline() -> None:
    plan = plan_of(
        "[{name: a, behaviour: delivery-timeout, topic: t, clients: 2, rate: 20,"
        " delivery_timeout_ms: 300, request_timeout_ms: 200}]"
    )
    with MockKafka() as kafka:
        kafka.fail(api="Produce", error="NOT_ENOUGH_REPLICAS")
        produce = of_api(run(plan, kafka.bootstrap_servers), "Produce")
    expired = [row for row in produce if row["status"] == "expired"]
    assert sorted(row["event_id"] for row in expired) == list(range(10))
    for row in expired:
        late_us = row["response_us"] - row["submitted_us"] - 300_000
        assert -1_000 <= late_us < TICK_US
    tries = [row for row in produce if row["status"] == "responded"]
    assert {row["error_code"] for row in tries} == {19}
    assert max(row["attempt"] for row in tries) > 1


def test_a_batch_that_is_stored_is_one_request_and_does_not_expire(servers: str) -> None:
    plan = plan_of(
        "[{name: a, behaviour: delivery-timeout, topic: t, clients: 2, rate: 40,"
        " delivery_timeout_ms: 400, request_timeout_ms: 400, records: 3}]"
    )
    rows = run(plan, servers)
    produce = of_api(rows, "Produce")
    assert endings(produce) == {("responded", "new", 0): 20}
    assert {(row["records"], row["attempt"]) for row in produce} == {(3, 1)}
    for client in (0, 1):
        sequences = sorted(row["sequence"] for row in produce if row["client"] == client)
        assert sequences == list(range(0, 3 * len(sequences), 3))
    # Requests that belong to no event have rows too.
    others = {(row["api"], row["event_id"]) for row in rows if row["api"] != "Produce"}
    assert others == {("Metadata", -1), ("InitProducerId", -1)}


TENANT = Tenant("a", "delivery-timeout", "a", delivery_timeout_ms=100, request_timeout_ms=100)


def played(play: Callable[[DeliveryTimeout], Awaitable[None]]) -> list[Row]:
    """Return the rows of one client without a broker; the test calls its methods."""

    async def scenario() -> list[Row]:
        client = DeliveryTimeout(run_of(TENANT), TENANT, 0)
        await play(client)
        for event in client.unsent():
            client.record_not_sent(event)
        await client.close()
        return rows_of(client.run)

    return asyncio.run(scenario())


def test_a_batch_that_is_never_reported_has_an_expired_row() -> None:
    async def play(client: DeliveryTimeout) -> None:
        client.run.is_over = True  # nothing is sent, so nothing is reported
        now_us = clock.now_us()
        client.submit(Event(1, 0, now_us - 900_000, 0))
        client.submit(Event(2, 0, now_us + 60_000_000, 0))

    rows = played(play)
    assert {(row["event_id"], row["status"]) for row in rows} == {(1, "expired"), (2, "not_sent")}
    [late] = [row for row in rows if row["event_id"] == 1]
    assert late["response_us"] - late["submitted_us"] >= 900_000
