"""Clients that connect, send one request and disconnect, again and again (KIP-612)."""

from client.errors import ClientError, ConnectionLostError, SecurityError, UnreachableError
from loadgen import clock
from loadgen.clients.load_client import Event
from loadgen.clients.load_connection import open_connection
from loadgen.clients.sequential_client import SequentialClient
from protocol import messages
from protocol.api_keys import ApiKey


class ConnectionStorm(SequentialClient):
    """Opens a connection for each event, asks for the metadata of the cluster, and closes it.

    The row with the API ApiVersions covers the time from the first packet to the last response of
    the handshake. A broker that limits new connections makes it long, or closes the connection: the
    row is then `lost`.
    """

    api = ApiKey.METADATA

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        run = self.run
        nodes = sorted(run.topology.brokers)
        node = nodes[event.salt % len(nodes)]
        rows = run.rows
        row = self.begin_row(event, clock.now_us(), api=ApiKey.API_VERSIONS, version=-1, node=node)
        try:
            connection = await open_connection(
                run.topology.brokers[node], self._connection_settings, self._timeout_s
            )
        except SecurityError as error:
            run.abort_run(f"tenant {self.tenant.name}: {error}")
            rows.mark_lost(row)
            raise ConnectionLostError(str(error)) from error
        except UnreachableError:
            rows.mark_lost(row)
            run.counts.errors += 1
            return
        except ClientError:
            rows.mark_lost(row)
            run.counts.errors += 1
            raise
        rows.end(row, clock.now_us(), 0)
        try:
            request = messages.MetadataRequest(topics=[], allow_auto_topic_creation=False)
            await self.send_request(event, connection, node, request)
        finally:
            connection.abort()
