"""Measure a million records from a real client: rate, cost per record and memory.

Our broker is read back completely and in order. librdkafka's mock keeps only 5 MiB of a partition,
so for the rivals only producing is measured.
"""

from collections.abc import Mapping
from typing import Any

from benchmarks import load_process
from benchmarks.batched_client import PARTITION, TOPIC
from benchmarks.report import Bar, Measurement
from benchmarks.request_bytes import VALUE_BYTES, UnmeasuredConnection
from benchmarks.server_process import ServerName, ServerProcess, serve
from protocol import messages
from protocol.api_keys import ApiKey

RECORDS = 1_000_000
LOG_DIRS_VERSION = 1


def run(server_name: ServerName) -> Mapping[str, float]:
    """Produce, and with our broker consume; no CPUs are pinned: the client needs more than one."""
    with serve(server_name) as server:
        with UnmeasuredConnection(server.address) as connection:
            connection.create_topic(TOPIC)
        figures: dict[str, Any] = _client("produce", server)
        if server_name == "ours":
            kept_bytes = _kept_bytes(server)
            peak_after_produce = server.peak_resident_bytes()
            figures |= _client("consume", server)
            peak_bytes = server.peak_resident_bytes()
            figures |= {
                "kept_mb": kept_bytes / 1e6,
                "peak_resident_after_produce_mb": peak_after_produce / 1e6,
                "peak_resident_mb": peak_bytes / 1e6,
                "peak_resident_to_kept": peak_bytes / kept_bytes,
            }
        else:
            figures["peak_resident_mb"] = server.peak_resident_bytes() / 1e6
        return figures


def _client(action: str, server: ServerProcess) -> dict[str, Any]:
    return load_process.run(
        [
            "benchmarks.batched_client",
            action,
            server.bootstrap_servers,
            str(server.pid),
            "--records",
            str(RECORDS),
        ]
    )


def _kept_bytes(server: ServerProcess) -> int:
    """Return the stored size of the partition; without DescribeLogDirs, that of the values."""
    with UnmeasuredConnection(server.address) as connection:
        if not connection.offers(ApiKey.DESCRIBE_LOG_DIRS):
            return RECORDS * VALUE_BYTES
        topic = messages.DescribeLogDirsRequest.DescribableLogDirTopic
        response = connection.ask(
            messages.DescribeLogDirsRequest(
                version=LOG_DIRS_VERSION,
                topics=[topic(version=LOG_DIRS_VERSION, topic=TOPIC, partitions=[PARTITION])],
            )
        )
    return sum(
        partition.partition_size
        for log_dir in response.results
        for found in log_dir.topics
        for partition in found.partitions
    )


MEASUREMENTS = (
    Measurement(
        "batched",
        "1,000,000 x 100 bytes",
        run,
        bars=(
            Bar("records_per_s", "at least", 0.9, is_ratio=True),
            Bar("consumed_records", "at least", RECORDS),
            Bar("peak_resident_to_kept", "at most", 1.5),
        ),
    ),
)
