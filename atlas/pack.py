"""`mock-kafka atlas pack`: what the executors of a Spark cluster need to run experiments.

The archive has mock-kafka with its broker, and the client libraries in Python that are installed
here. What builds the other adapters (Go, Node, a JDK, pip) has to be on the executors' machines.
"""

from collections.abc import Mapping
from pathlib import Path

from loadgen import pack

LIBRARIES = ("aiokafka", "confluent-kafka", "kafka-python")
"""Those that are in the table of clients; one that is not installed here is left out."""
_LEFT_OUT = pack.PROVIDED_BY_SPARK | {"argcomplete", "jinja2", "matplotlib", "rich"}
"""The tools and the reports run on the driver's machine."""
_SOURCE_PACKAGES = (
    "atlas",
    "broker",
    "client",
    "loadgen",
    "mock_kafka",
    "producer_state",
    "protocol",
    "quotas",
    "scenarios",
)


def files_for_executors() -> Mapping[str, Path]:
    """Return the files of the archive by their names in it.

    Raises:
        PackError: mock-kafka or what it requires is not installed here.
    """
    files = pack.files_of(pack.DISTRIBUTION, pack.EXTRA, left_out=_LEFT_OUT)
    for library in LIBRARIES:
        files |= pack.files_of(library, is_needed=False, left_out=_LEFT_OUT)
    if not pack.has_our_packages(files):
        files |= pack.source_files(_SOURCE_PACKAGES)
    return files


def write(archive: Path) -> None:
    """Write the archive, and print how to use it.

    Raises:
        PackError: a package is not installed here, or the archive can't be written.
    """
    pack.write_archive(archive, files_for_executors())
    print(f"{archive}: {archive.stat().st_size / 1e6:.0f} MB, for {pack.PYTHON}")
    print(f"mock-kafka atlas --out DIR --master spark://HOST:PORT --environment {archive}")
