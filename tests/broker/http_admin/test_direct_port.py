"""The admin port without HTTP: the same operations by method and path."""

import json

import pytest

from mock_kafka.simulated_world import SimulatedWorld, simulate


def test_paths_queries_and_bodies_reach_their_operation() -> None:
    async def main(world: SimulatedWorld) -> None:
        port = world.kafka.cluster.control._port  # type: ignore[attr-defined]
        body = json.dumps({"name": "orders", "partitions": 2}).encode()
        status, media_type, text = await port.respond("POST", "/v1/topics", body)
        assert (status, media_type) == (201, "application/json")
        status, _, text = await port.respond("GET", "/v1/topics/ord%65rs/records?offset=0", None)
        assert status == 200
        assert "records" in json.loads(text) or text

    simulate(main)


def test_an_unknown_path_and_an_unknown_name_are_problems() -> None:
    async def main(world: SimulatedWorld) -> None:
        port = world.kafka.cluster.control._port  # type: ignore[attr-defined]
        for target in ("/v1/nothing", "/v1/topics/orders%20x", "/v1/brokers/9?x=1"):
            status, media_type, text = await port.respond("GET", target, None)
            assert status in {400, 404}
            assert media_type == "application/problem+json"
            assert json.loads(text)["status"] == status
        assert port.respond_at_once("GET", "/healthz", None)[0] == 200
        with pytest.raises(RuntimeError, match="needs a coroutine"):
            port.respond_at_once("GET", "/v1/requests/wait?timeout_ms=1000", None)

    simulate(main)
