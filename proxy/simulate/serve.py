"""`mock-kafka proxy --simulate`: serve a recorded world alone, and refuse what it never had."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from broker.clock import BrokerClock
from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.http_admin.operation import Problem
from broker.http_admin.recorded_parts import AskedRequest, RecordedCluster
from broker.http_admin.snapshot_document import Snapshot
from broker.http_admin.snapshot_load import load_snapshot
from broker.http_admin.snapshot_start import read_snapshot
from broker.http_admin.state import Admin
from broker.log import log
from broker.serve import ServeOptions, StartError, serve, start_server
from broker.server.server import Server
from protocol.pacing import may_pause
from proxy.simulate.strict_requests import StrictRequests

_AUTHORIZER = "authorizer.class.name"


@may_pause
def read_world(path: Path) -> Snapshot:
    """Return a recorded world from its file, which may be compressed.

    Raises:
        StartError: the file cannot be read, is no such document, or has no requests.
    """
    try:
        world = read_snapshot(path).document
    except ConfigError as error:
        raise StartError(f"--simulate: {error}") from error
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
    texts = {**cluster.config, **config.overrides}
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
