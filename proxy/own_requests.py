"""The requests of the proxy itself: which brokers and topics the cluster has when it starts."""

import asyncio
from collections.abc import Sequence

from broker.addresses import Address
from client.broker_connection import BrokerConnection
from client.errors import ClientError
from client.resources import Address as ServerAddress
from client.security import Security
from client.transport import tls_context
from protocol import messages

CLIENT_ID = "mock-kafka-proxy"
TIMEOUT_S = 5.0


class UnknownClusterError(Exception):
    """No broker has answered; the message is one line."""


async def describe_cluster(
    to: Sequence[Address], security: Security
) -> "messages.MetadataResponse":
    """Return the brokers and topics of a cluster from the first address that answers.

    Raises:
        UnknownClusterError: none does within `TIMEOUT_S`.
        SecurityError: a PEM file cannot be read.
    """
    tls = tls_context(security.tls) if security.tls is not None else None
    problems = []
    for address in to:
        answer: asyncio.Future[messages.Message] = asyncio.get_running_loop().create_future()

        def fail(error: ClientError, answer: "asyncio.Future[messages.Message]" = answer) -> None:
            if not answer.done():
                answer.set_exception(error)

        def ask(holder: "list[BrokerConnection]") -> None:
            request = messages.MetadataRequest(topics=None, allow_auto_topic_creation=False)
            holder[0].write(holder[0].codec.request(request))

        held: list[BrokerConnection] = []
        connection = BrokerConnection(
            CLIENT_ID,
            security.sasl,
            on_open=lambda held=held: ask(held),  # type: ignore[misc]
            on_response=answer.set_result,
            on_lost=fail,
        )
        held.append(connection)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await connection.connect(ServerAddress(address.host, address.port), tls)
                response = await answer
                assert isinstance(response, messages.MetadataResponse)
                return response
        except TimeoutError:
            problems.append(f"{address}: no answer in {TIMEOUT_S:g} s")
        except ClientError as error:
            problems.append(f"{address}: {error}")
        finally:
            connection.abort()
    raise UnknownClusterError("; ".join(problems))
