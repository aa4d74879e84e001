"""KIP-599's worked example over sockets, with a clock moved by the test."""

import asyncio
from typing import Any

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.connection_driver import metadata_frame, request_frame
from tests.broker.server.tcp_client import connect, read_frame, serving

# R = 5, S = 100, W = 1: a burst of 500 partitions.
QUOTA = {
    "client.quotas": "user=ANONYMOUS,controller_mutation_rate=5",
    "controller.quota.window.num": "100",
    "controller.quota.window.size.seconds": "1",
}
PARTITION_COUNT = 80
STRICT_VERSION = 7
_Topic = messages.CreateTopicsRequest.CreatableTopic


def create_frame(*names: str) -> bytes:
    topics = [
        _Topic(
            version=STRICT_VERSION, name=name, num_partitions=PARTITION_COUNT, replication_factor=1
        )
        for name in names
    ]
    request: Any = messages.CreateTopicsRequest(
        version=STRICT_VERSION, topics=topics, timeout_ms=1000, validate_only=False
    )
    return request_frame(request, STRICT_VERSION, 1)


async def create(port: int, *names: str) -> tuple[list[int], int]:
    """Return error codes and throttle_time_ms, over a new connection."""
    reader, writer = await connect(port)
    writer.write(create_frame(*names))
    frame = await read_frame(reader)
    writer.close()
    response: Any = messages.CreateTopicsResponse.decode(frame[5:], version=STRICT_VERSION)
    return [topic.error_code for topic in response.topics], response.throttle_time_ms


async def test_the_worked_example() -> None:
    async with serving(**QUOTA) as (server, port, _):
        clock: Any = server.clock
        names = [f"topic-{number}" for number in range(7)]
        # The seventh takes the bucket to -60: it is accepted, and the next one is refused.
        assert await create(port, *names) == ([ErrorCode.NONE] * 7, 0)
        refused = [ErrorCode.THROTTLING_QUOTA_EXCEEDED]
        assert await create(port, "next") == (refused, 12_000)
        clock.time_ms += 11_999
        assert await create(port, "next") == (refused, 1)
        clock.time_ms += 1
        assert await create(port, "next") == ([ErrorCode.NONE], 0)


async def test_a_refused_client_is_not_served_before_the_throttle_time_is_over() -> None:
    async with serving(**QUOTA) as (server, port, _):
        clock: Any = server.clock
        await create(port, *(f"topic-{number}" for number in range(7)))
        reader, writer = await connect(port)
        writer.write(create_frame("next") + metadata_frame(2))
        await read_frame(reader)
        response = asyncio.create_task(read_frame(reader))
        for now_ms in (clock.time_ms + 11_999, clock.time_ms + 12_000):
            assert not response.done()
            clock.time_ms = now_ms
            server.cluster.timers.run_due(now_ms)
            for _ in range(10):
                await asyncio.sleep(0)
        assert int.from_bytes((await response)[:4], "big") == 2
        writer.close()
