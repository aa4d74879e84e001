"""The simulated network: in order on a connection, out of order between them."""

from random import Random

import pytest

from simulation.network import Link, Network, ServerTransport
from simulation.network_conditions import NetworkConditions
from tests.simulation.virtual_time import Schedule


class Peer:
    def __init__(self) -> None:
        self.received = b""
        self.reasons: list[str] = []

    def on_open(self) -> None:
        pass

    def on_bytes(self, data: bytes) -> None:
        self.received += data

    def on_closed(self, reason: str) -> None:
        self.reasons.append(reason)


class Address:
    host, port = "broker-1", 9092


def arrived(seed: int, conditions: NetworkConditions) -> tuple[str, bytes]:
    schedule = Schedule()
    network = Network(schedule, Random(seed), conditions, lambda _line: None, is_traced=False)
    peer = Peer()
    link = Link(network, 1, "user", "host", peer)
    for number in range(200):
        link.send(link.down, b"%d," % number)
    schedule.run_until(schedule.time_ms + 10_000)
    return network.digest, peer.received


def test_pieces_of_a_connection_stay_in_order() -> None:
    conditions = NetworkConditions(split_chance=0.5, slow_chance=0.3)
    assert arrived(1, conditions)[1] == b"".join(b"%d," % number for number in range(200))


def test_a_cut_connection_ends_within_what_was_sent() -> None:
    _, received = arrived(1, NetworkConditions(cut_chance=0.05))
    complete = b"".join(b"%d," % number for number in range(200))
    assert complete.startswith(received)
    assert len(received) < len(complete)


def test_the_digest_depends_on_the_seed_alone() -> None:
    digests = [arrived(seed, NetworkConditions())[0] for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


class Server:
    """What a broker's transport reports to the server."""

    def __init__(self) -> None:
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data


def test_a_stream_to_a_client_ends_alone_and_frames_in_pieces_are_noted_once() -> None:
    schedule = Schedule()
    conditions = NetworkConditions(delay_ms_max=0)
    network = Network(schedule, Random(1), conditions, lambda _line: None, is_traced=False)
    peer, server = Peer(), Server()
    link = Link(network, 1, "user", "host", peer)
    transport = ServerTransport(link, server)
    link.arrive(transport)
    frames = b"\0\0\0\3abc\0\0\0\0" + b"\0\0\0\2de"
    start_ms = schedule.time_ms
    for number, byte in enumerate(frames):
        schedule.run_until(start_ms + number)
        transport.write(bytes([byte]))
    assert list(transport.frame_times) == [start_ms, start_ms + 7, start_ms + 11]
    assert transport.can_write_eof()
    transport.write_eof()
    link.send_to_broker(b"late")
    schedule.run_until(start_ms + 1_000)
    assert (peer.received, peer.reasons) == (frames, ["connection closed"])
    assert server.received == b"late"


@pytest.mark.parametrize("conditions", [NetworkConditions(), NetworkConditions(refuse_chance=1)])
def test_a_connection_is_refused_where_nobody_listens(conditions: NetworkConditions) -> None:
    schedule = Schedule()
    network = Network(schedule, Random(1), conditions, lambda _line: None, is_traced=False)
    peer = Peer()
    network.connect("user", "host", Address(), peer)
    schedule.run_until(schedule.time_ms + 1_000)
    assert peer.reasons == ["connection refused"]
