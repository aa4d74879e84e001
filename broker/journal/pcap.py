"""Write requests and responses as a packet capture (pcap) that Wireshark's Kafka dissector reads.

The packets are made up around the kept frames: raw IPv4, the broker N at 10.0.0.N (modulo 256) with
port 9092, which Wireshark takes for Kafka, and the connection N at 10.1.x.y.
"""

from struct import Struct

from broker.journal.lines import Entry

BROKER_PORT = 9092
SEGMENT_BYTES_MAX = 60_000

_FILE = Struct("<IHHiIII")
_PACKET = Struct("<IIII")
_IP = Struct(">BBHHHBBH4s4s")
_TCP = Struct(">HHIIBBHHH")
_SIZE = Struct(">i")

_MAGIC = 0xA1B2C3D4
_RAW_IP = 101
_PROTOCOL_TCP = 6
_SYN, _ACK, _PUSH = 0x02, 0x10, 0x08
_PORTS_FROM, _PORT_COUNT = 10_000, 50_000


def file_header() -> bytes:
    """Return the header of a capture."""
    return _FILE.pack(_MAGIC, 2, 4, 0, 0, 65_535, _RAW_IP)


class PacketWriter:
    """Writes the packets of requests; it keeps the sequence numbers of their connections."""

    def __init__(self) -> None:
        self._sent: dict[int, list[int]] = {}
        """By connection, the next sequence numbers of the client and of the broker."""

    def packets(self, entry: Entry) -> bytes:
        """Return the packets of a request and of its response, as far as they were kept."""
        if entry.frame is None:
            return b""
        context = entry.context
        time_us = context.now_ms * 1000
        parts: list[bytes] = []
        if context.connection_id not in self._sent:
            self._sent[context.connection_id] = [1, 1]
            parts += self._handshake(entry, time_us)
        request = _SIZE.pack(len(entry.frame)) + entry.frame
        parts += self._segments(entry, time_us, request, is_response=False)
        if entry.response is not None:
            response_us = time_us + (entry.duration_us or 0)
            parts += self._segments(entry, response_us, bytes(entry.response), is_response=True)
        return b"".join(parts)

    def _handshake(self, entry: Entry, time_us: int) -> list[bytes]:
        return [
            _packet(entry, time_us, b"", (0, 0), flags=_SYN, is_response=False),
            _packet(entry, time_us, b"", (0, 1), flags=_SYN | _ACK, is_response=True),
            _packet(entry, time_us, b"", (1, 1), flags=_ACK, is_response=False),
        ]

    def _segments(
        self, entry: Entry, time_us: int, data: bytes, *, is_response: bool
    ) -> list[bytes]:
        numbers = self._sent[entry.context.connection_id]
        own, other = (1, 0) if is_response else (0, 1)
        found = []
        for start in range(0, len(data), SEGMENT_BYTES_MAX):
            segment = data[start : start + SEGMENT_BYTES_MAX]
            sequence = (numbers[own], numbers[other])
            flags = _ACK | _PUSH
            found.append(
                _packet(entry, time_us, segment, sequence, flags=flags, is_response=is_response)
            )
            numbers[own] = (numbers[own] + len(segment)) % 2**32
        return found


def _packet(
    entry: Entry,
    time_us: int,
    data: bytes,
    sequence: tuple[int, int],
    *,
    flags: int,
    is_response: bool,
) -> bytes:
    """Return one packet; `sequence` has its sequence and acknowledgement number."""
    connection_id = entry.context.connection_id
    client = bytes((10, 1, connection_id >> 8 & 0xFF, connection_id & 0xFF))
    broker = bytes((10, 0, 0, entry.context.broker_id % 256))
    client_port = _PORTS_FROM + connection_id % _PORT_COUNT
    addresses, ports = (client, broker), (client_port, BROKER_PORT)
    if is_response:
        addresses, ports = addresses[::-1], ports[::-1]
    tcp = _TCP.pack(*ports, *sequence, _TCP.size // 4 << 4, flags, 65_535, 0, 0)
    size = _IP.size + len(tcp) + len(data)
    fields = (0x45, 0, size, 0, 0, 64, _PROTOCOL_TCP)
    ip = _IP.pack(*fields, _checksum(_IP.pack(*fields, 0, *addresses)), *addresses)
    return _PACKET.pack(time_us // 10**6 % 2**32, time_us % 10**6, size, size) + ip + tcp + data


def _checksum(header: bytes) -> int:
    total = sum(int.from_bytes(header[at : at + 2], "big") for at in range(0, len(header), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
