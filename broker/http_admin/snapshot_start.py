"""The snapshot with which a cluster starts: its file, and what is loaded before the first request.

A recording of another cluster (`mock-kafka record`) also says how many brokers there are, and how
they are configured.
"""

import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from broker.clock import BrokerClock
from broker.cluster.cluster import Cluster
from broker.config.authorizer_settings import AUTHORIZER_CLASS
from broker.config.keys import ConfigError
from broker.faults import FaultRule
from broker.http_admin.long_body import read_long_body
from broker.http_admin.operation import Problem
from broker.http_admin.snapshot_document import LONG_PARTS, Snapshot
from broker.http_admin.snapshot_load import (
    isolate_brokers,
    load_and_open,
    load_snapshot,
    rules_of,
)
from broker.http_admin.state import Admin
from broker.server.server import Server
from protocol.pacing import may_pause

_GZIP = b"\x1f\x8b"


class FirstSnapshot(msgspec.Struct, frozen=True):
    """A snapshot that a cluster starts with, and the name of its file."""

    path: Path
    document: Snapshot
    rules: tuple[FaultRule, ...]
    """The fault rules of the document."""

    @property
    def broker_count(self) -> int:
        """The number of brokers that a recorded cluster had; 1 if the snapshot is no recording."""
        cluster = self.document.cluster
        return max(1, 0 if cluster is None else len(cluster.brokers))

    @property
    def config(self) -> Mapping[str, str]:
        """`RecordedCluster.config`; nothing if the snapshot is no recording."""
        cluster = self.document.cluster
        return {} if cluster is None else cluster.config

    @may_pause
    def hold_requests(self, cluster: Cluster) -> None:
        """Have the requests of clients wait until `load` has ended."""
        isolate_brokers(cluster)

    async def load(self, server: Server, clock: BrokerClock, faults: tuple[FaultRule, ...]) -> None:
        """Load it into a server that has just started, and let requests through.

        `faults` are the rules if the document has none; rules may act at once.

        Raises:
            ConfigError: the cluster refuses a part; the server is stopped then.
        """
        server.first_faults = faults
        admin = Admin(server, clock)
        document = self._loaded(admin.cluster)
        takes_id = _takes_id(admin.cluster)
        try:
            await load_and_open(admin, document, self.rules or faults, takes_id=takes_id)
        except Problem as problem:
            await server.stop()
            raise ConfigError(f"{self.path}: {_words(problem)}") from problem

    def keep(self, admin: Admin) -> None:
        """Have each reset load it again."""
        document, rules = self._loaded(admin.cluster), self.rules or admin.server.first_faults
        takes_id = _takes_id(admin.cluster)
        admin.restore = lambda: load_snapshot(admin, document, rules, takes_id=takes_id)

    def _loaded(self, cluster: Cluster) -> Snapshot:
        """Return what is loaded of the document.

        The access control lists of a recording need an authorizer, and most tests have none.
        """
        if self.document.cluster is None or cluster.config[AUTHORIZER_CLASS]:
            return self.document
        return msgspec.structs.replace(self.document, acls=[])


@may_pause
def read_snapshot(path: Path) -> FirstSnapshot:
    """Read a snapshot from a JSON file, which gzip may have compressed.

    Raises:
        ConfigError: the file can't be read, or is not a valid document.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
        document = read_long_body(data, Snapshot, LONG_PARTS)
        return FirstSnapshot(path, document, tuple(rules_of(document)))
    except Problem as problem:
        raise ConfigError(f"{path}: {_words(problem)}") from problem
    except (EOFError, OSError, zlib.error) as error:
        raise ConfigError(f"{path}: gzip: {error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not JSON: {error}") from error


def _takes_id(cluster: Cluster) -> bool:
    """Return whether the cluster has the id of the document: the configuration names none."""
    return not cluster.config["cluster.id"]


def _words(problem: Problem) -> str:
    """Return what is wrong and where, without words of HTTP."""
    place = (problem.at or "").removeprefix("$").removeprefix(".")
    return f"{place}: {problem.reason}" if place else problem.reason
