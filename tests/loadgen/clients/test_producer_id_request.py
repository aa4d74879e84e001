"""A producer id, and the rows of the requests for it."""

import asyncio
from typing import Any, cast

import pytest

from client.errors import ConnectionLostError
from loadgen.clients.load_client import LoadClient
from loadgen.clients.load_connection import LoadConnection
from loadgen.clients.producer_id_request import request_producer_id
from loadgen.plan.plan import Tenant
from protocol import messages
from tests.loadgen.fake_load_connection import FakeConnection
from tests.loadgen.stubs import rows_of, run_of

TENANT = Tenant("a", "steady", "a", topic="t")


class Connection(FakeConnection):
    """Responds with these error codes, one after the other, and then not at all."""

    def __init__(self, *error_codes: int) -> None:
        super().__init__()
        self._error_codes = list(error_codes)

    async def exchange(self, frame: bytes, _timeout_s: float) -> Any:
        assert frame == b"InitProducerId"
        if not self._error_codes:
            raise ConnectionLostError("the connection is closed")
        return messages.InitProducerIdResponse(
            version=1,
            throttle_time_ms=0,
            error_code=self._error_codes.pop(0),
            producer_id=70,
            producer_epoch=0,
        )


def test_an_error_is_asked_again_and_has_a_row() -> None:
    run = run_of(TENANT)
    connection = cast("LoadConnection", Connection(89, 0))
    client = LoadClient(run, TENANT, 0)
    assert asyncio.run(request_producer_id(client, connection, 1, 0)) == (70, 0)
    assert [row["error_code"] for row in rows_of(run)] == [89, 0]
    assert run.counts.errors == 1


def test_without_a_response_the_row_is_lost() -> None:
    run = run_of(TENANT)
    connection = cast("LoadConnection", Connection())
    with pytest.raises(ConnectionLostError):
        asyncio.run(request_producer_id(LoadClient(run, TENANT, 0), connection, 1, 0))
    assert [row["status"] for row in rows_of(run)] == ["lost"]
