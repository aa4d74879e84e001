"""The methods for past requests; tests/mock_kafka/test_methods.py has those with clients."""

import socket
from pathlib import Path

import pytest

from mock_kafka import MockKafka

METADATA = b"\0\x03\0\x01\0\0\0\x07\0\x02id\0\0\0\0"


def test_a_request_is_listed_found_by_number_and_saved(tmp_path: Path) -> None:
    with MockKafka() as kafka:
        host, port = kafka.bootstrap_servers.split(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(len(METADATA).to_bytes(4) + METADATA)
            assert client.recv(4)
        request = kafka.wait_for(api="Metadata", outcome="responded")
        assert kafka.request(request.number).client_id == "id"
        assert kafka.last_request_number() >= request.number
        assert [found.api for found in kafka.requests(api="Metadata")] == ["Metadata"]
        kafka.save_pcap(tmp_path / "requests.pcap", api="Metadata")
        assert (tmp_path / "requests.pcap").stat().st_size > 100
        assert kafka.near_misses(api="Metadata", client_id="other")
        with pytest.raises(TimeoutError):
            kafka.wait_for(api="Fetch", timeout_s=0)
