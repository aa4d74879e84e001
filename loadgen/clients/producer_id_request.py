"""Request a producer id without a transactional id, with a row per request."""

import asyncio
from typing import cast

from client.errors import ClientError
from loadgen import clock
from loadgen.clients.load_client import NO_EVENT, LoadClient
from loadgen.clients.load_connection import LoadConnection
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode


async def request_producer_id(
    client: LoadClient, connection: LoadConnection, node: int, backoff_ms: int
) -> tuple[int, int]:
    """Return a new producer id and its epoch; ask again after an error.

    Raises:
        ClientError: there is no response.
    """
    request = messages.InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
    )
    version = connection.wire.version_of(ApiKey.INIT_PRODUCER_ID)
    rows = client.run.rows
    while True:
        frame = connection.wire.request(request)
        now_us = clock.now_us()
        row = rows.begin(
            event_id=NO_EVENT,
            intended_us=now_us,
            submitted_us=now_us,
            sent_us=now_us,
            client=client.number,
            api=ApiKey.INIT_PRODUCER_ID,
            version=version,
            request_bytes=len(frame),
            node=node,
        )
        try:
            found = await connection.exchange(frame, client.tenant.request_timeout_ms / 1000)
        except ClientError:
            rows.mark_lost(row)
            raise
        response = cast("messages.InitProducerIdResponse", found)
        rows.end(row, clock.now_us(), response.error_code, response.throttle_time_ms)
        if response.error_code == ErrorCode.NONE:
            return response.producer_id, response.producer_epoch
        client.run.counts.errors += 1
        await asyncio.sleep(max(response.throttle_time_ms, backoff_ms) / 1000)
