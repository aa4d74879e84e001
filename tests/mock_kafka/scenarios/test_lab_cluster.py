"""A laboratory's broker does as it is told."""

import asyncio
from urllib.error import HTTPError

import pytest

from client import Producer
from mock_kafka.scenarios.lab_cluster import LabCluster


def test_a_fault_a_journal_and_a_clock() -> None:
    async def send(servers: str) -> None:
        async with Producer(servers, client_id="me") as producer:
            assert (await (await producer.send("orders", b"a"))).offset == 0

    with LabCluster(brokers=2, config={"num.partitions": 1}) as lab:
        assert len(lab.bootstrap_servers.split(",")) == 2
        lab.create_topic("orders", partitions=1)
        number = lab.add_fault(api="Produce", client_id="me", error="NOT_ENOUGH_REPLICAS", times=1)
        asyncio.run(send(lab.bootstrap_servers))
        lab.remove_fault(number)
        produced = lab.requests(api="Produce", client_id="me")
        assert [bool(each["fault"]) for each in produced] == [True, False]
        assert [each["value"]["text"] for each in lab.records("orders")] == ["a"]
        before_ms = lab.ask("GET", "/clock")["now_ms"]
        lab.advance_ms(3_600_000)
        assert lab.ask("GET", "/clock")["now_ms"] >= before_ms + 3_600_000
        with pytest.raises(HTTPError):
            lab.remove_fault(number)
