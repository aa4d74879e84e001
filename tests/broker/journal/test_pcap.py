"""A packet capture has every kept byte, and Wireshark's Kafka dissector reads it."""

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from broker.http_admin.state import Admin
from broker.journal.lines import Entry
from broker.journal.pcap import PacketWriter, file_header
from protocol.api_keys import ApiKey
from protocol.messages import API_NAMES, api_key_of
from protocol.releases import release_versions
from tests.broker.connection_driver import Client, metadata_frame
from tests.broker.http_admin.admin_server import make_admin
from tests.broker.journal.journalled_cluster import produce_frame
from tests.fuzz.corpus import schema_frames

DOCUMENT = Path(__file__).parents[3] / "docs" / "admin.md"
HAS_TSHARK = pytest.mark.skipif(shutil.which("tshark") is None, reason="there is no tshark here")


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
@HAS_TSHARK
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


def documented_versions() -> tuple[str, dict[str, tuple[int, int]]]:
    """Return the version of TShark, and the lowest and the highest version of each API."""
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    [(tshark_version, listed)] = re.findall(
        r"TShark ([\d.]+) \(Debian 12\) decodes (.*?); no other API", text
    )
    spans = re.findall(r"(\w+) (\d+)(?:-(\d+))?", listed)
    return tshark_version, {name: (int(low), int(high or low)) for name, low, high in spans}


@pytest.mark.slow
@HAS_TSHARK
def test_the_document_lists_the_versions_that_wireshark_decodes(tmp_path: Path) -> None:
    tshark_version, documented = documented_versions()
    if f"{tshark_version} " not in "".join(tshark(Path("/dev/null"), "--version")):
        pytest.skip(f"the document is about TShark {tshark_version}")
    admin = make_admin(1)
    for frame in schema_frames():
        Client(admin.cluster, dispatcher=admin.server.dispatcher).send(frame.data)
    entries = [line for line in admin.journal if isinstance(line, Entry)]
    for number, entry in enumerate(entries):
        entry.context.connection_id = number  # the ids of correlation are all the same
    path = tmp_path / "all.pcap"
    path.write_bytes(capture(admin))
    fields = ("kafka.request_key", "kafka.api_version", "_ws.expert.message")
    columns = [part for field in fields for part in ("-e", field)]
    decoded: dict[str, list[int]] = defaultdict(list)
    seen = set()
    for line in tshark(path, "-Y", "kafka.request_key", "-T", "fields", *columns):
        api_key, version, notes = line.split("\t")
        name = API_NAMES[ApiKey(int(api_key))]
        seen.add(name)
        if not re.search(r"Unsupported|Unknown", notes):
            decoded[name].append(int(version))
    assert len(seen) > 70
    assert {name: (min(found), max(found)) for name, found in decoded.items()} == documented


def test_the_release_that_the_document_names_has_only_versions_that_wireshark_decodes() -> None:
    _, documented = documented_versions()
    versions = release_versions("2.5")
    above = {
        name: versions[api_key_of(name)]
        for name, (_, highest) in documented.items()
        if api_key_of(name) in versions and versions[api_key_of(name)][1] > highest
    }
    assert above == {}
