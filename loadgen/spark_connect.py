"""Sessions of Spark Connect: the JVM is that of a server, which may be on another host.

What needs the JVM in this process, such as RDDs, is not there.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEME = "sc://"
_PORT = 15002
_TIMEOUT_S = 10


def is_connect(master: str) -> bool:
    """Return whether a master is the URL of a server of Spark Connect."""
    return master.startswith(SCHEME)


def is_connected(spark: "SparkSession") -> bool:
    """Return whether a session is one of Spark Connect."""
    return ".connect." in type(spark).__module__


@contextmanager
def connected_session(url: str) -> Iterator["SparkSession"]:
    """Open a session at a server, `sc://HOST:PORT`, and end it after the block.

    Raises:
        OSError: nothing listens there.
        PySparkException: the server refuses the session, or a package is missing.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - slow to load, and not needed to plan

    address = urlsplit(url)
    # Spark would try for ten minutes.
    socket.create_connection((address.hostname, address.port or _PORT), _TIMEOUT_S).close()
    session = SparkSession.builder.remote(url).create()
    try:
        yield session
    finally:
        with suppress(Exception):  # the server may be gone
            session.stop()


def address_here(host: str) -> str:
    """Return the address of this host that another one can reach it at."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as towards:
        towards.connect((host, _PORT))  # which sends nothing
        return str(towards.getsockname()[0])


def cancel_jobs(spark: "SparkSession") -> None:
    """Cancel the jobs of a session, of whichever kind it is."""
    if is_connected(spark):
        spark.interruptAll()
    else:
        spark.sparkContext.cancelAllJobs()
