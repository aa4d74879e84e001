"""The bytes of requests over the admin port: in hex, and as a packet capture."""

import pytest

from broker.http_admin.journal_bytes import BytesQuery, LinePath, get_request
from broker.http_admin.operation import Problem
from broker.http_admin.requests import clear_requests
from broker.http_admin.state import Admin
from protocol.api_keys import ApiKey
from tests.broker.connection_driver import Client, metadata_frame
from tests.broker.http_admin.admin_server import make_admin, serving_site
from tests.broker.http_admin.kafka_clients import connect, leave


def filled() -> Admin:
    admin = make_admin()
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(metadata_frame(1) + metadata_frame(2))
    return admin


def test_one_request_has_its_decoded_messages_and_both_frames_in_hex() -> None:
    line = get_request(filled(), LinePath(2), BytesQuery())
    assert (line["number"], line["api"], line["correlation_id"]) == (2, "Metadata", 2)
    assert line["request"]["topics"] == []
    assert bytes.fromhex(line["request_hex"]) == metadata_frame(2)
    response = bytes.fromhex(line["response_hex"])
    assert int.from_bytes(response[:4], "big") == len(response) - 4
    assert response[4:8] == b"\0\0\0\2"


def test_frames_that_may_have_secrets_are_hidden_unless_they_are_asked_for() -> None:
    admin = filled()
    line = next(iter(admin.journal))
    line.context.api_key = ApiKey.SASL_AUTHENTICATE  # type: ignore[union-attr]
    shown = get_request(admin, LinePath(1), BytesQuery())
    assert (shown["request_hex"], shown["response_hex"]) == (None, None)
    assert get_request(admin, LinePath(1), BytesQuery(secrets=True))["request_hex"] is not None


def test_a_number_that_the_journal_does_not_have_is_an_error_that_says_which_it_has() -> None:
    admin = filled()
    with pytest.raises(Problem, match="no line 7; it has 1 to 2") as caught:
        get_request(admin, LinePath(7), BytesQuery())
    assert caught.value.status == 404
    clear_requests(admin)
    with pytest.raises(Problem, match="it is empty"):
        get_request(admin, LinePath(1), BytesQuery())


async def test_a_capture_has_the_requests_that_fit() -> None:
    async with serving_site(broker_count=1) as site:
        _, writer = await connect(site.kafka_ports[0])
        sizes = []
        for query in ("", "?api=Metadata", "?api=Produce"):
            async with site.session.get(f"{site.url}/v1/requests/pcap{query}") as response:
                assert response.content_type == "application/vnd.tcpdump.pcap"
                sizes.append(len(await response.read()))
        await leave(writer)
        assert sizes[0] == sizes[1] > 24
        assert sizes[2] == 24
        status, _ = await site.ask("GET", "/v1/requests/status")
        assert status == 200
