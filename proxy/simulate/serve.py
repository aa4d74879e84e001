"""`mock-kafka proxy --simulate`: serve a recorded world alone, and refuse what it never had."""

import gzip
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from broker.clock import BrokerClock
from broker.config.broker_config import BrokerConfig
from broker.http_admin.long_body import read_long_body
from broker.http_admin.operation import Problem
from broker.http_admin.recorded_parts import AskedRequest, RecordedCluster
from broker.http_admin.snapshot_document import LONG_PARTS, Snapshot
from broker.http_admin.snapshot_load import load_snapshot
from broker.http_admin.state import Admin
from broker.log import log
from broker.serve import ServeOptions, StartError, serve, start_server
from broker.server.server import Server
from protocol.pacing import may_pause
from proxy.recorded_broker import recorded_texts
from proxy.simulate.strict_requests import StrictRequests

_GZIP_MAGIC = b"\x1f\x8b"
_AUTHORIZER = "authorizer.class.name"


@may_pause
def read_world(path: Path) -> Snapshot:
    """Return a recorded world from its file, which may be compressed.

    Raises:
        StartError: the file cannot be read, is no such document, or has no requests.
    """
    try:
        data = path.read_bytes()
        if data.startswith(_GZIP_MAGIC):
            data = gzip.decompress(data)
        world: Snapshot = read_long_body(data, Snapshot, LONG_PARTS)
    except OSError as error:
        raise StartError(f"--simulate: cannot read {path}: {error.strerror or error}") from error
    except (EOFError, Problem) as error:
        raise StartError(f"--simulate: {path}: {error}") from error
    if not world.requests:
        raise StartError(
            f"--simulate: {path} has no requests, so all would be refused: record it with"
            " `mock-kafka proxy --to ... --record`, or load it with MockKafka(snapshot=...)"
        )
    return world


def simulating_options(options: ServeOptions, world: Snapshot) -> ServeOptions:
    """Return the options with which our broker is like the recorded cluster.

    What `options` set has precedence.
    """
    cluster = world.cluster or RecordedCluster()
    config = options.config
    texts = {**recorded_texts(cluster), **config.overrides}
    for node_id, own in config.overrides_by_broker.items():
        texts |= {f"broker.{node_id}.{name}": text for name, text in own.items()}
    return replace(
        options,
        config=BrokerConfig.from_overrides(texts),
        broker_count=max(1, len(cluster.brokers)),
    )


async def serve_simulation(options: ServeOptions, world: Snapshot) -> None:
    """Serve a recorded world until a signal.

    Raises:
        StartError: our broker refuses a part of the world, or an address cannot be bound.
        ConfigError: the configuration is invalid.
    """
    await serve(simulating_options(options, world), partial(_start, world))


async def _start(world: Snapshot, options: ServeOptions) -> Server:
    server = await start_server(options)
    clock = server.clock
    assert isinstance(clock, BrokerClock)
    if not options.config[_AUTHORIZER]:
        world.acls = []  # They need an authorizer.
    try:
        await load_snapshot(Admin(server, clock), world, ())
    except Problem as problem:
        await server.stop()
        raise StartError(f"--simulate: {problem.reason}") from problem
    begin_strictness(server, world.requests)
    return server


def begin_strictness(server: Server, requests: Sequence[AskedRequest]) -> None:
    """Refuse from now on the requests that are not among the recorded ones."""
    topic_name = server.dispatcher.faults.topic_name
    strict = StrictRequests(requests, topic_name)
    server.dispatcher.faults.set_hook(strict, is_lasting=True)
    log.info("requests that were not recorded are refused", kinds=len(requests))
