"""The form of journal lines in the OpenAPI document has every field that a line has."""

import msgspec

from broker.http_admin.request_view import RequestView
from broker.http_admin.requests import ListQuery
from tests.broker.connection_driver import Client, metadata_frame
from tests.broker.http_admin.admin_server import listed_requests, make_admin
from tests.broker.journal.journalled_cluster import produce_frame


async def test_lines_of_a_journal_have_this_form() -> None:
    admin = make_admin()
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(metadata_frame(1) + produce_frame("orders", 2))
    lines = await listed_requests(admin, ListQuery())
    assert len(lines) == 2
    names = {field.name for field in msgspec.structs.fields(RequestView)}
    for line in lines:
        assert set(line) <= names
        assert msgspec.convert(line, RequestView).number == line["number"]
