"""A read_committed consumer of one partition, without the network."""

from uuid import UUID

from broker.cluster.topics import NO_LEADER
from broker.dispatch.connection import Connection
from client.protocol_codec import ProtocolCodec
from protocol import messages
from protocol.control_records import ControlRecordType, decode_control_key
from protocol.errors import ErrorCode
from protocol.records import CONTROL_FLAG, TRANSACTIONAL_FLAG, read_header, read_records
from tests.simulation.brokers import SimulatedServer
from tests.simulation.client_link import known_versions
from tests.simulation.fetch_session import fetch_request
from tests.simulation.group_member import split_batches
from tests.simulation.history import Place


class CommittedReader:
    """Read on from where the last call of `read` ended."""

    def __init__(self, server: SimulatedServer, place: Place) -> None:
        self._server = server
        self._place = place
        self._offset = 0

    def read(self) -> list[bytes]:
        """Return the values that are committed now and were not returned before."""
        topic = self._server.cluster.topics.get(self._place[0])
        assert topic is not None
        partition = topic.partition(self._place[1])
        assert partition is not None
        values: list[bytes] = []
        if partition.leader_id == NO_LEADER:
            return values
        wire = ProtocolCodec("reader")
        wire.on_api_versions(known_versions())
        connection = Connection(
            self._server.dispatcher,
            broker_id=partition.leader_id,
            connection_id=0,
            client_host="",
            frame_bytes_max=1 << 20,
            on_ready=lambda: None,
        )
        with self._server.pauses.suspended():
            while self._offset < partition.log.log_end_offset:
                start = self._offset
                values += self._fetch(wire, connection, topic.topic_id)
                if self._offset == start:
                    break
        return values

    def _fetch(self, wire: ProtocolCodec, connection: Connection, topic_id: UUID) -> list[bytes]:
        """Return the committed values of one response, and move on behind it."""
        request = fetch_request({self._place: (-1, self._offset)}, {self._place[0]: topic_id}, 0)
        request.isolation_level = 1
        effects = connection.receive(wire.request(request), self._server.clock.now_ms())
        wire.feed(effects.write)
        response = wire.next_response()
        if response is None:  # a fault rule keeps it waiting
            return []
        assert isinstance(response, messages.FetchResponse)
        if not response.responses:
            return []
        (result,) = response.responses[0].partitions
        if result.error_code != ErrorCode.NONE or not result.records:
            return []
        starts = sorted(
            (aborted.first_offset, aborted.producer_id)
            for aborted in result.aborted_transactions or ()
        )
        aborted_ids: set[int] = set()
        values: list[bytes] = []
        for batch in split_batches(bytes(result.records)):
            header = read_header(batch, 0)
            last_offset = header.base_offset + header.last_offset_delta
            while starts and starts[0][0] <= last_offset:
                aborted_ids.add(starts.pop(0)[1])
            if header.attributes & CONTROL_FLAG:
                (marker,) = read_records(batch)
                if decode_control_key(marker.key or b"") == ControlRecordType.ABORT:
                    aborted_ids.discard(header.producer_id)
            elif not (header.attributes & TRANSACTIONAL_FLAG and header.producer_id in aborted_ids):
                values += [read_record.value or b"" for read_record in read_records(batch)]
            self._offset = last_offset + 1
        return values
