from contextlib import closing

import pytest

from client.errors import ConnectionLostError
from mock_kafka import MockKafka
from protocol import messages
from scenarios.controller_overload.polled_connection import PolledConnection

METADATA = messages.MetadataRequest(topics=[], allow_auto_topic_creation=False)


@pytest.mark.slow
def test_a_response_is_there_when_the_broker_sent_it_and_polling_never_waits() -> None:
    with MockKafka(1, {"broker.clock": "standing"}) as kafka:
        kafka.delay(ms=50, api="Metadata", times=1)
        with closing(PolledConnection(kafka.bootstrap_servers, "test")) as connection:
            connection.send(METADATA)
            kafka.wait_for(api="Metadata")
            assert (connection.poll(), connection.is_busy) == (None, True)

            kafka.advance(ms=50)
            response = connection.poll()
            assert isinstance(response, messages.MetadataResponse)
            assert (response.controller_id, connection.is_busy) == (1, False)


def poll_until_lost(connection: PolledConnection) -> None:
    while connection.poll() is None:
        pass


def test_a_connection_that_is_cut_is_an_error() -> None:
    with (
        MockKafka(1) as kafka,
        closing(PolledConnection(kafka.bootstrap_servers, "test")) as connection,
    ):
        kafka.hang(api="Metadata")
        connection.send(METADATA)
        kafka.wait_for(api="Metadata")
        kafka.stop_broker(1)
        with pytest.raises((ConnectionLostError, ConnectionError)):
            poll_until_lost(connection)
