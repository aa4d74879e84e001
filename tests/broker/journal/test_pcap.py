"""A packet capture has every kept byte, and Wireshark's Kafka dissector reads it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from broker.http_admin.state import Admin
from broker.journal.journal import Entry
from broker.journal.pcap import PacketWriter, file_header
from tests.broker.connection_driver import Client, metadata_frame
from tests.broker.http_admin.admin_server import make_admin
from tests.broker.journal.journalled_cluster import produce_frame


@pytest.fixture
def admin() -> Admin:
    """Two connections: Metadata twice and Produce, then Metadata."""
    admin = make_admin(1)
    admin.cluster.create_topic("orders", [(1,)], {})
    first = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    first.send(metadata_frame(1) + metadata_frame(2) + produce_frame("orders", 3))
    second = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    second.send(metadata_frame(4))
    return admin


def capture(admin: Admin) -> bytes:
    writer = PacketWriter()
    entries = [line for line in admin.journal if isinstance(line, Entry)]
    return file_header() + b"".join(map(writer.packets, entries))


def tshark(path: Path, *arguments: str) -> list[str]:
    command = ["tshark", "-r", str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


def test_every_frame_is_in_the_capture(admin: Admin) -> None:
    data = capture(admin)
    for line in admin.journal:
        assert isinstance(line, Entry)
        assert line.frame is not None
        assert line.response is not None
        assert line.frame in data
        assert bytes(line.response) in data


def test_a_request_that_was_not_kept_has_no_packets(admin: Admin) -> None:
    entry = next(line for line in admin.journal if isinstance(line, Entry))
    entry.frame = None
    assert PacketWriter().packets(entry) == b""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tshark") is None, reason="there is no tshark here")
def test_wireshark_reads_the_requests_and_their_responses(admin: Admin, tmp_path: Path) -> None:
    path = tmp_path / "requests.pcap"
    path.write_bytes(capture(admin))
    fields = ("kafka.request_key", "kafka.correlation_id", "kafka.request_missing")
    columns = [part for field in fields for part in ("-e", field)]
    # Of Produce version 9 Wireshark 4.0 shows the header only.
    assert tshark(path, "-Y", "kafka.request_key == 0") != []
    assert tshark(path, "-Y", "kafka.correlation_id != 3", "-T", "fields", *columns) == [
        *("3\t1\t", "\t1\t", "3\t2\t", "\t2\t", "3\t4\t", "\t4\t")
    ]
    assert tshark(path, "-Y", "tcp.analysis.flags") == []
    assert tshark(path, "-Y", "_ws.malformed && kafka.request_key != 0") == []
