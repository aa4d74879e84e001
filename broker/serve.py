"""Serve a cluster: create it, bind its listeners, print their addresses, stop on a signal."""

import asyncio
import base64
import errno
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from broker.addresses import LOCAL_HOSTS, Address, is_loopback
from broker.clock import BrokerClock, ClockMode
from broker.cluster.cluster import Cluster
from broker.config.api_versions import release_of
from broker.config.broker_config import BROKER_KEYS, BrokerConfig
from broker.config.key_warnings import warn_of_keys
from broker.config.listener_values import first_listener_values
from broker.log import log
from broker.request.encoding import BugReporter
from broker.routes import ROUTES
from broker.security.jaas import plain_users
from broker.security.principal_mapping import name_mapper
from broker.server.listener import ListenError, cannot_listen, listening_sockets
from broker.server.listener_security import ListenerSecurity
from broker.server.listener_settings import ListenerPlan, SecurityProtocol, plan_listeners
from broker.server.log_output import log_output
from broker.server.open_files import max_admin_connections, max_connections, raise_file_limit
from broker.server.server import Server, log_bug
from broker.server.tls import has_keystore
from protocol import regular_expressions
from protocol.api_keys import ApiKey

if TYPE_CHECKING:  # the import takes longer than the rest of the start
    from broker.faults import FaultRule
    from broker.http_admin.snapshot_start import FirstSnapshot
    from broker.http_admin.state import Admin
    from broker.http_admin.web import AdminPort

GC_THRESHOLDS = 1_500, 3, 10_000
"""When the garbage collector looks at the objects of each generation.

Python's default of 700 allocations slows the broker down. With ten times as many as these, a pass
takes longer than a turn of a request. The third, with the two before it, leaves the pass over all
objects to brokers that have made many millions of them.
"""

IMPORT_RETRY_S = 0.05
IMPORT_DELAY_S = 0.05
"""Time for the client that waits for the first line, before other handlers are imported."""

CLIENT_APIS = (
    ApiKey.API_VERSIONS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.PRODUCE,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.OFFSET_FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.FETCH,
    ApiKey.HEARTBEAT,
    ApiKey.OFFSET_COMMIT,
    ApiKey.LEAVE_GROUP,
)
"""What most producers and consumers send, in this order. All APIs would take 4 MB more."""


class StartError(Exception):
    """The cluster cannot start; the message is one line."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of the command line."""

    host: str
    port: int
    broker_count: int
    config: BrokerConfig
    log_level: str = "info"
    log_format: str = "console"
    advertised_host: str | None = None
    """Host that brokers advertise where `advertised.listeners` does not say; None for the bound."""
    admin_host: str = "127.0.0.1"
    admin_port: int | None = None
    """Port of the HTTP admin API; 0 for any free port, None for no admin API."""
    admin_allowed_hosts: tuple[str, ...] = ()
    """Names in the Host header that the admin port accepts besides addresses and localhost."""
    faults: "tuple[FaultRule, ...]" = ()
    has_tls: bool = False
    """Whether the listener has TLS, with certificates that are made if the keys name none."""
    has_sasl: bool = False
    """Whether the listener has SASL."""
    snapshot: "FirstSnapshot | None" = None
    """What is loaded before the first request, and by each reset."""


async def serve(
    options: ServeOptions,
    start: Callable[[ServeOptions], Awaitable[Server]] | None = None,
    prepare: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT.

    `start` returns the server, by default `start_server`; `prepare` runs between its first
    requests, by default `import_handlers`.

    Raises:
        StartError: an address cannot be bound, or a key or a fault rule names a broker that the
            cluster does not have.
        ConfigError: the configuration of the listeners is invalid.
    """
    log.level = options.log_level.lower()
    log.before_first_line = lambda: configure_logging(options.log_level, options.log_format)
    logging.basicConfig(stream=log_output())  # of asyncio
    gc.set_threshold(*GC_THRESHOLDS)
    raise_file_limit()
    stopped = stopped_by_signal()
    config = options.config
    for texts in (config.overrides, *config.overrides_by_broker.values()):
        warn_of_keys(BROKER_KEYS, texts, release_of(config))
    server = await (start or start_server)(options)
    try:
        server.connections_max = max_connections()
    except OSError as error:
        await server.stop()
        raise StartError(str(error)) from error
    lines = bootstrap_lines(server)
    admin_socket = None if options.admin_port is None else bind_admin_port(options, server)
    if admin_socket is not None:
        lines.append(f"admin.url={admin_socket.url}")
    lines += security_lines(server)
    try:
        # One write, also where output is not buffered: who reads the first line has all of them.
        print("\n".join([*lines, ""]), end="", flush=True)  # noqa: T201 - the documented lines
    except OSError as error:  # the reader of a pipe has gone, or a disk is full
        log.warning("the addresses can't be printed", lines=lines, error=str(error))
    admin_port = (
        None if admin_socket is None else await serve_admin_port(admin_socket, options, server)
    )
    gc.freeze()
    preparing = asyncio.ensure_future((prepare or import_handlers)())
    log.debug("cluster started", brokers=options.broker_count, addresses=lines)
    await stopped.wait()
    log.debug("cluster stops", connections=len(server.protocols))
    preparing.cancel()
    if admin_port is not None:
        await admin_port.stop()
    await server.stop()


def stopped_by_signal() -> asyncio.Event:
    """Return an event of the running loop that SIGTERM or SIGINT sets, or Ctrl-Break of Windows."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGINT", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, stopped.set)
        except NotImplementedError:  # the loop of Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stopped.set))
    return stopped


async def start_server(options: ServeOptions, report_bug: BugReporter = log_bug) -> Server:
    """Return a server whose cluster has all its listeners bound and its timers running.

    `report_bug` receives what a handler raised, and the request.

    Raises:
        StartError: an address cannot be bound, or a key or a fault rule names a broker that the
            cluster does not have.
        ConfigError: the configuration of the listeners is invalid, or the snapshot is refused.
    """
    broker_count = options.broker_count
    first_id = options.config.first_node_id
    last_id = first_id + broker_count - 1
    for node_id in options.config.overrides_by_broker:
        if not first_id <= node_id <= last_id:
            known = f"brokers {first_id} to {last_id}"
            raise StartError(f"broker.{node_id}.*: there are {known} only")
    listeners = plan_listeners(
        options.config,
        options.host,
        options.port,
        broker_count,
        options.advertised_host,
        SecurityProtocol.of(has_tls=options.has_tls, has_sasl=options.has_sasl),
    )
    cluster_id = options.config["cluster.id"] or new_cluster_id()
    cluster = Cluster(options.config, broker_count, cluster_id=cluster_id, new_uuid=uuid4)
    clock_mode = ClockMode(options.config["broker.clock"])
    clock = BrokerClock(clock_mode, options.config["broker.clock.factor"])
    server = Server(cluster, clock, report_bug)
    for listener in listeners:
        if listener.protocol.has_sasl:
            for node_id in cluster.brokers:
                plain_users(options.config, listener.name, node_id)  # may raise ConfigError
    if options.snapshot is not None:
        options.snapshot.hold_requests(cluster)
    await open_listeners(server, options, listeners)
    if options.snapshot is None:
        await begin_serving(server, options.faults)
    else:
        await begin_serving(server, ())
        await options.snapshot.load(server, clock, options.faults)
    return server


async def begin_serving(server: Server, faults: "tuple[FaultRule, ...]") -> None:
    """Start the timers of a server, with fault rules that a reset restores.

    Raises:
        StartError: a rule names what the cluster does not have.
    """
    server.start()
    try:
        server.dispatcher.faults.add_all(faults, server.clock.now_ms())
    except ValueError as error:
        await server.stop()
        raise StartError(f"--faults: {error}") from error
    server.first_faults = faults


async def open_listeners(
    server: Server,
    options: ServeOptions,
    plans: Sequence[ListenerPlan],
    *,
    authenticates: bool = True,
) -> None:
    """Bind the listeners of all brokers; make certificates if TLS needs some and has none.

    Without `authenticates` a listener with SASL passes its requests on to who knows the users.

    Raises:
        StartError: an address cannot be bound.
        ConfigError: the configuration of the listeners is invalid.
    """
    config = options.config
    with ExitStack() as files:
        values = {plan.name: first_listener_values(config, plan.name) for plan in plans}
        if options.has_tls and any(
            plan.protocol.has_tls and not has_keystore(values[plan.name]) for plan in plans
        ):
            folder = Path(files.enter_context(_certificates_folder()))
            now_ms = server.clock.now_ms()
            server.ca_path, server_path = _make_certificates(folder, plans, now_ms)
            server.certificates.made_keystore = str(server_path)
        for plan in plans:
            is_sasl = plan.protocol.has_sasl and authenticates
            tokens = await server.token_validator(plan.name) if is_sasl else None
            tls = server.certificates.load_first(plan)
            for node_id in config.overrides_by_broker:
                server.certificates.load_own(plan, node_id)
            to_principal = name_mapper(values[plan.name]["ssl.principal.mapping.rules"])
            server.listeners.plans.append(
                (plan, ListenerSecurity(plan.name, is_sasl, tls, to_principal, tokens))
            )
        for broker in server.cluster.brokers.values():
            try:
                await server.open(broker)
            except ListenError as error:
                raise StartError(str(error)) from error
            server.certificates.use_own(broker.node_id)
        server.files = files.pop_all()


def _certificates_folder() -> "TemporaryDirectory[str]":
    try:
        return TemporaryDirectory(prefix="mock-kafka-")
    except OSError as error:
        raise StartError(
            "TLS needs a temporary folder for its certificates, and none can be written to: set"
            f" TMPDIR, or ssl.keystore.location to a file of yours ({error.strerror})"
        ) from error


def _make_certificates(
    folder: Path, listeners: Sequence[ListenerPlan], now_ms: int
) -> tuple[Path, Path]:
    """Write certificates for all hosts of the listeners; return those of authority and server."""
    # A slow import that only TLS needs.
    from broker.server import certificates  # noqa: PLC0415

    addresses = [address for plan in listeners for address in (plan.bound, plan.advertised)]
    hosts = dict.fromkeys([*LOCAL_HOSTS, *(address.host for address in addresses)])
    certificates.write_certificates(folder, list(hosts), [], now_ms)
    return folder / certificates.AUTHORITY_FILE, folder / certificates.SERVER_FILE


async def import_handlers() -> None:
    """Import the handlers of `CLIENT_APIS`, and then RE2, one at a time, between requests.

    A request that comes earlier, or to another API, imports its own handler.
    """
    await asyncio.sleep(IMPORT_DELAY_S)
    for api_key in CLIENT_APIS:
        with suppress(ImportError, OSError):  # no file is left: the first request tries again
            ROUTES[api_key].load()
        await asyncio.sleep(0)
    with suppress(ImportError, OSError):
        regular_expressions.load()
    gc.freeze()


class AdminSocket(NamedTuple):
    """The bound socket of the admin port, before its server has started."""

    url: str
    sockets: list[socket.socket]


def bind_admin_port(options: ServeOptions, server: Server) -> AdminSocket:
    """Bind the admin port and enable the journal. Connections wait until the port is served.

    Raises:
        StartError: the address cannot be bound.
    """
    host, port = options.admin_host, options.admin_port
    assert port is not None
    try:
        sockets = listening_sockets(host, port)
    except (OSError, OverflowError) as error:
        raise StartError(str(cannot_listen(host, port, error))) from error
    server.dispatcher.journal.is_enabled = True
    return AdminSocket(f"http://{Address(host, sockets[0].getsockname()[1])}", sockets)


async def serve_admin_port(
    admin_socket: AdminSocket, options: ServeOptions, server: Server
) -> "AdminPort":
    """Serve the admin port.

    A thread imports its modules. The import takes longer than the rest of the start, and Kafka
    clients are served during it.
    """
    while True:
        try:
            make_admin, make_port = await asyncio.to_thread(_load_admin_port)
            break
        except (ImportError, OSError) as error:
            # A burst of connections holds the last files until the excess ones are closed.
            if os.strerror(errno.EMFILE) not in str(error):
                raise
            await asyncio.sleep(IMPORT_RETRY_S)
    assert isinstance(server.clock, BrokerClock)
    token = options.config["broker.admin.token"]
    if token is None and not is_loopback(options.admin_host):
        log.warning(
            "the admin port is open to other machines without a token",
            host=options.admin_host,
            remedy="set broker.admin.token",
        )
    admin = make_admin(server, server.clock)
    if options.snapshot is not None:
        options.snapshot.keep(admin)
    allowed_hosts = {"localhost", *options.admin_allowed_hosts}
    port = make_port(admin, token, allowed_hosts, max_admin_connections())
    await port.start(admin_socket.sockets)
    return port


def _load_admin_port() -> tuple[type["Admin"], type["AdminPort"]]:
    from broker.http_admin.state import Admin  # noqa: PLC0415 - see `serve_admin_port`
    from broker.http_admin.web import AdminPort  # noqa: PLC0415

    return Admin, AdminPort


def bootstrap_lines(server: Server) -> list[str]:
    """Return the lines to print when the cluster accepts connections: one for each listener.

    The first is `bootstrap.servers=...`, the next ones are `bootstrap.servers.NAME=...`.
    """
    lines: list[str] = []
    brokers = [server.cluster.brokers[node_id] for node_id in server.bootstrap_ids]
    for name in brokers[0].endpoints:
        addresses = [broker.address(name) for broker in brokers]
        key = f"bootstrap.servers.{name}" if lines else "bootstrap.servers"
        lines.append(f"{key}={','.join(map(str, addresses))}")
    return lines


def security_lines(server: Server) -> list[str]:
    """Return the lines to print about security; none if the only listener is PLAINTEXT by default.

    `security.protocol=...` is that of the first listener, `security.protocol.NAME=...` that of
    another. `ssl.ca.location=...` is the file of the authority of certificates that were made.
    """
    plans = [plan for plan, _ in server.listeners.plans]
    is_configured = "listeners" in server.cluster.config.overrides
    if not is_configured and plans[0].protocol is SecurityProtocol.PLAINTEXT:
        return []
    lines = [f"security.protocol={plans[0].protocol.value}"]
    lines += [f"security.protocol.{plan.name}={plan.protocol.value}" for plan in plans[1:]]
    return lines if server.ca_path is None else [*lines, f"ssl.ca.location={server.ca_path}"]


def new_cluster_id() -> str:
    """Return a random id in Kafka's form: 16 bytes as base64 without padding."""
    return base64.urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")


def configure_logging(level: str, log_format: str) -> None:
    """Send log lines to standard error, as text or as JSON; a reader that stops blocks nothing."""
    # structlog imports rich if it is installed, for tracebacks that we do not use.
    has_rich = "rich" in sys.modules
    sys.modules.setdefault("rich", None)  # type: ignore[arg-type]
    import structlog  # noqa: PLC0415 - see `broker.log`

    if not has_rich:
        del sys.modules["rich"]
    output: Any = log_output()
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=output.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    processors: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if log_format == "json":
        processors.append(structlog.processors.format_exc_info)
    structlog.configure(
        processors=[*processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=structlog.WriteLoggerFactory(output),
        cache_logger_on_first_use=True,
    )
