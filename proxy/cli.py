"""The command line `mock-kafka proxy`."""

import argparse
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from broker.addresses import Address
from broker.cli import (
    add_parent_argument,
    add_shared_arguments,
    port_of,
    refuse_unknown,
    run,
    serve_options,
)
from broker.config.keys import ConfigError
from broker.option_variables import use_variables
from broker.serve import ServeOptions, StartError, serve
from broker.standard_streams import open_missing_streams, terminate_when_stdin_closes
from client.addresses import addresses_of
from client.errors import SecurityError
from client.security import security_of
from protocol.pacing import may_pause
from proxy.recording.options import add_record_options
from proxy.serve import start_proxy
from proxy.server import ProxyServer

DESCRIPTION = """\
Serve as a proxy in front of a Kafka cluster until SIGTERM or SIGINT: fault rules,
throttles and the journal of mock-kafka, with the brokers, topics and records of the
cluster.

As soon as connections are accepted, the first line on standard output is
  bootstrap.servers=HOST:PORT
Clients use this address in place of the cluster's. Each broker of the cluster gets a
separate port, which its address in every response names.
With --admin-port a line admin.url=http://HOST:PORT follows, and with --tls what
clients must set. Logs go to standard error. Exit status: 0 after a signal, 1 when the
start fails, 2 for wrong arguments.
"""

EPILOG = """\
The bootstrap port is --port, the brokers have the next ones in the order in which the
proxy learns of them; with --port 0 all are free ones. For clients on other hosts:
  mock-kafka proxy --to kafka:9092 --host 0.0.0.0 --advertised-host myhost

--to-config names a properties file with the keys of Kafka's clients, for connections to
the cluster: security.protocol, sasl.*, ssl.* (PEM). Its TLS is that of all connections.
Its user is that of the proxy's own requests: SASL of clients passes through.
With TLS for clients, and SASL of the cluster:
  mock-kafka proxy --to kafka:9093 --to-config client.properties --tls --sasl

--diff gives each request also to a broker of mock-kafka that has the cluster's world: its
topics with their last records, offsets, quotas and rules. Clients get the responses of
the cluster. At the end a report says what mock-kafka would have answered otherwise:
  mock-kafka proxy --to kafka:9092 --diff --report diff.html
The exit status is 1 if something differs.

Each option has an environment variable, which the option overrides:
MOCK_KAFKA_ADMIN_PORT is --admin-port. ${env:NAME} in a value is an environment variable.
"""

DIFF_RECORDS = 1000

StartProxy = Callable[[ServeOptions], Coroutine[Any, Any, ProxyServer]]

NO_VARIABLES: Mapping[str, str] = {}


def build_parser(environment: Mapping[str, str] = NO_VARIABLES) -> argparse.ArgumentParser:
    """Return the parser; `environment` has defaults of the options.

    Raises:
        SystemExit: a variable has an invalid value.
    """
    parser = argparse.ArgumentParser(
        prog="mock-kafka proxy",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--to",
        type=_addresses,
        metavar="HOST:PORT[,HOST:PORT...]",
        help="bootstrap brokers of the cluster",
    )
    parser.add_argument(
        "--to-config",
        type=Path,
        metavar="FILE",
        help="properties of a client of the cluster, see below",
    )
    parser.add_argument(
        "--port",
        type=port_of,
        default=9092,
        help="bootstrap port, 0 for free ports (default: %(default)s)",
    )
    add_shared_arguments(parser)
    parser.add_argument(
        "--sasl",
        action="store_true",
        help="clients authenticate at the cluster: print SASL in security.protocol",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="record what passes into this file, each minute, at SIGUSR1 and at the end",
    )
    add_record_options(parser)
    parser.add_argument(
        "--quota",
        action="append",
        default=[],
        metavar="ENTITY,KEY=VALUE",
        help="such as user=alice,producer_ids_rate=10 (docs/proxy.md); may be given often",
    )
    parser.add_argument(
        "--diff",
        action="store_true",
        help="compare each response with that of mock-kafka in the cluster's place, see below",
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="with --diff: write the report as a page, or as JSON if the name ends with .json",
    )
    parser.add_argument(
        "--diff-records",
        type=_record_count,
        default=DIFF_RECORDS,
        metavar="N",
        help="with --diff: how many of the last records of each partition are read at the start,"
        " or `all` (default: %(default)s)",
    )
    parser.add_argument(
        "--simulate",
        type=Path,
        metavar="FILE",
        help="without --to: serve the recorded world of this file, and refuse the requests that"
        " were never recorded",
    )
    use_variables(parser, environment)
    add_parent_argument(parser)
    parser.set_defaults(brokers=1, first_node_id=None, snapshot=None)
    return parser


def _record_count(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number of at least 1, or `all`")
    return int(text)


def _addresses(text: str) -> tuple[Address, ...]:
    try:
        return tuple(Address(found.host, found.port) for found in addresses_of(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


@may_pause
def main(
    arguments: Sequence[str] | None = None, environment: Mapping[str, str] = NO_VARIABLES
) -> int:
    """Run the command; return the exit status. `environment` has defaults of the options."""
    parser = build_parser(environment)
    parsed, unknown = parser.parse_known_args(arguments)
    if unknown:
        refuse_unknown(parser, unknown)
    if parsed.diff and parsed.record is not None:
        parser.error("--diff and --record exclude each other")
    if (parsed.to is None) is (parsed.simulate is None):
        parser.error("give either --to, the cluster, or --simulate, a recorded world")
    try:
        open_missing_streams()
        if parsed.until_stdin_closes:
            terminate_when_stdin_closes()
        if parsed.quota:
            parsed.overrides.append(f"client.quotas={'; '.join(parsed.quota)}")
        options = serve_options(parsed, environment)
        if parsed.simulate is not None:
            _simulate(options, parsed.simulate)
            return 0
        properties = read_client_properties(parsed.to_config)
        start = partial(start_proxy, to=parsed.to, security=security_of(properties))
        if parsed.diff:
            return _compare(parsed, options, start, properties)
        if parsed.record is None:
            run(serve(options, start, _prepare_nothing))
        else:
            from proxy.recording.world_file import open_world_file  # noqa: PLC0415 - few record

            world = open_world_file(parser, parsed, properties)
            begin = partial(world.start, start)
            run(serve(options, begin, _prepare_nothing))
            world.write()
    except (ConfigError, SecurityError, StartError) as error:
        print(f"mock-kafka proxy: {error}", file=sys.stderr)
        return 1
    return 0


@may_pause
def _simulate(options: ServeOptions, path: Path) -> None:
    """Serve a recorded world alone, until a signal."""
    from proxy.simulate.serve import read_world, serve_simulation  # noqa: PLC0415 - see ADR 24

    run(serve_simulation(options, read_world(path)))


def _compare(
    parsed: argparse.Namespace,
    options: ServeOptions,
    start: StartProxy,
    properties: Mapping[str, str],
) -> int:
    """Serve and compare; print the report, and return 1 if something differs."""
    from proxy.diff.serve import serve_and_compare, write_report  # noqa: PLC0415 - see ADR 24

    report = run(serve_and_compare(options, start, parsed.to, properties, parsed.diff_records))
    print("\n".join(report.lines()))
    if parsed.report is not None:
        try:
            write_report(report, parsed.report)
        except OSError as error:
            raise StartError(f"cannot write {parsed.report}: {error.strerror or error}") from error
    return 0 if report.is_same else 1


async def _prepare_nothing() -> None:
    """Import no handler: the cluster has them."""


def read_client_properties(path: Path | None) -> dict[str, str]:
    """Return the properties of a file; none if there is no file.

    Raises:
        ConfigError: the file cannot be read, or a value names a variable that is not set.
    """
    if path is None:
        return {}
    from client.tools.session import ToolError, read_properties  # noqa: PLC0415 - see ADR 24

    try:
        return read_properties(path)
    except ToolError as error:
        raise ConfigError(str(error)) from error
