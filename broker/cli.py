"""The command line: read arguments and files, then serve."""

import argparse
import asyncio
import sys
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from broker.addresses import LOCAL_HOSTS, PORT_MAX, without_brackets
from broker.clock import SystemClock
from broker.config.keys import ConfigError
from broker.option_files import read_config, read_faults, read_snapshot
from broker.option_variables import keys_in, use_variables
from broker.serve import ServeOptions, StartError, serve
from broker.server.tls import VALID_DAYS
from broker.standard_streams import open_missing_streams, terminate_when_stdin_closes
from protocol.pacing import may_pause
from protocol.suggestions import did_you_mean

DESCRIPTION = """\
A Kafka cluster in one process that real Kafka clients cannot tell from a real one.
"""

EXAMPLES = """\
examples:
  mock-kafka serve
      one broker on 127.0.0.1:9092
  mock-kafka serve --port 0 --brokers 3
      three brokers on free ports; the first line printed says which
  mock-kafka serve -o num.partitions=6 -o auto.create.topics.enable=false
      Kafka's own broker keys, one by one
  mock-kafka serve --config server.properties
      or from a properties file
  mock-kafka serve --snapshot setup.json.gz
      with what a snapshot has, before the first request
"""

SERVE_DESCRIPTION = """\
Start a cluster and serve until SIGTERM or SIGINT.

As soon as connections are accepted, the first line on standard output is
  bootstrap.servers=HOST:PORT[,HOST:PORT...]
With --admin-port a line admin.url=http://HOST:PORT follows behind those of the
listeners, and with --tls, --sasl or -o listeners=... what clients must set:
  security.protocol=SASL_SSL
  ssl.ca.location=FILE
Logs go to standard error. Exit status: 0 after a signal, 1 when the start
fails (a port in use, a bad value, a refused snapshot), 2 for wrong arguments.
"""

SERVE_EPILOG = """\
With TLS, and users whose passwords are in no process list:
  mock-kafka serve --tls --sasl -o 'sasl.users=alice:${env:PASSWORD}'

More listeners are Kafka's keys:
  mock-kafka serve -o listeners=PLAINTEXT://:9092,SASL_PLAINTEXT://:9093 \\
      -o sasl.users=alice:secret
Each has a separate line: bootstrap.servers=... for the first one, then
bootstrap.servers.SASL_PLAINTEXT=... and so on. With --brokers the ports of the
next brokers follow in the smallest step with which no two listeners meet.

Batches of idempotent producers that arrive twice are recognised by KIP-758's rule.
Apache Kafka 4.4 keeps five batches per producer instead; kafkajs needs its rule:
  mock-kafka serve -o producer.state.batches=5

Brokers advertise --host and their port. For clients in
containers or on other hosts, listen on all addresses and advertise a name that
they can reach:
  mock-kafka serve --host 0.0.0.0 --advertised-host myhost
For other ports use -o advertised.listeners=PLAINTEXT://myhost:9092. With several
brokers the next ones advertise the following ports; port 0 means the port that the
broker listens on.

Each option has an environment variable, which the option overrides:
MOCK_KAFKA_ADMIN_PORT is --admin-port. MOCK_KAFKA_CONFIG_NUM_PARTITIONS=6 is
-o num.partitions=6 (_ for a dot, __ for _, ___ for a dash).

${env:NAME} in a value is an environment variable.
"""


CERTS_DESCRIPTION = """\
Make a throwaway certificate authority, a certificate for the broker and one for
each client, as PEM files, and print what to set to use them.
"""

NODE_ID_MAX = 1_000_000
"""Highest node id of the first broker."""

NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


_T = TypeVar("_T")


def build_parser(environment: Mapping[str, str] = NO_VARIABLES) -> argparse.ArgumentParser:
    """Return the parser of all subcommands; `environment` has defaults for the options of `serve`.

    Raises:
        SystemExit: a variable has an invalid value.
    """
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="mock-kafka", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=raw
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    command = commands.add_parser(
        "serve",
        help="start a cluster and serve until a signal",
        description=SERVE_DESCRIPTION,
        epilog=SERVE_EPILOG,
        formatter_class=raw,
    )
    _add_serve_arguments(command)
    use_variables(command, environment)
    add_parent_argument(command)
    command.set_defaults(parser=command)
    command = commands.add_parser(
        "certs",
        help="make throwaway certificates for TLS listeners",
        description=CERTS_DESCRIPTION,
        formatter_class=raw,
    )
    command.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for them")
    command.add_argument(
        "--host",
        dest="hosts",
        type=host_of,
        action="append",
        metavar="NAME",
        help="name or address of the broker; may be given often"
        f" (default: {', '.join(LOCAL_HOSTS)})",
    )
    command.add_argument(
        "--client",
        dest="clients",
        action="append",
        default=[],
        metavar="NAME",
        help="common name, or whole DN, of a client; may be given often",
    )
    command.add_argument(
        "--days",
        type=int,
        default=VALID_DAYS,
        metavar="N",
        help="how long they are valid from now on; -1 makes some that expired a day ago"
        " (default: %(default)s)",
    )
    command.set_defaults(parser=command)
    return parser


def _add_serve_arguments(command: argparse.ArgumentParser) -> None:
    add_shared_arguments(command)
    command.add_argument(
        "--port",
        type=port_of,
        default=9092,
        help="port of the first broker, 0 for free ports; with --brokers the next brokers take the"
        " following ports (default: %(default)s)",
    )
    command.add_argument(
        "--brokers",
        type=_broker_count,
        default=1,
        metavar="N",
        help="how many brokers; their node ids count on from the first one (default: %(default)s)",
    )
    command.add_argument(
        "--first-node-id",
        type=_node_id,
        metavar="ID",
        help="node id of the first broker, like -o node.id=ID (default: 1)",
    )
    command.add_argument(
        "--sasl",
        action="store_true",
        help="have clients authenticate, as users of -o 'sasl.users=NAME:${env:PASSWORD},...'",
    )
    command.add_argument(
        "--snapshot",
        type=Path,
        metavar="FILE",
        help="snapshot that is loaded before the first request, and by each reset: JSON, perhaps"
        " compressed by gzip (docs/admin.md)",
    )


def add_shared_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options that the proxy has as well: keys, TLS, the admin port, faults, the log."""
    command.add_argument(
        "--host",
        type=host_of,
        default="127.0.0.1",
        help="address to listen on (default: %(default)s)",
    )
    command.add_argument(
        "--advertised-host",
        type=host_of,
        metavar="HOST",
        help="host that brokers advertise, for listeners that advertised.listeners does not name"
        " (default: that of the listener)",
    )
    command.add_argument(
        "--config", type=Path, metavar="FILE", help="properties file with Kafka's broker keys"
    )
    command.add_argument(
        "-o",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="one broker key, or broker.N.KEY=VALUE for broker N alone; may be given often, and"
        " wins over --config",
    )
    command.add_argument(
        "--tls",
        action="store_true",
        help="have TLS for clients; without ssl.keystore.* with certificates for this run, of the"
        " authority that the line ssl.ca.location=FILE names",
    )
    add_admin_arguments(command)
    command.add_argument(
        "--faults",
        type=Path,
        metavar="FILE",
        help="JSON file of fault rules, active from the start (docs/faults.md)",
    )
    command.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="least important log lines to show (default: %(default)s)",
    )
    command.add_argument(
        "--log-format",
        choices=("console", "json"),
        default="console",
        help="format of log lines (default: %(default)s)",
    )


def add_admin_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of the admin port."""
    command.add_argument(
        "--admin-port",
        type=port_of,
        metavar="PORT",
        help="HTTP port of the admin API; 0 for a free one (default: none)",
    )
    command.add_argument(
        "--admin-host",
        type=host_of,
        default="127.0.0.1",
        metavar="HOST",
        help="address of the admin port (default: %(default)s)",
    )
    command.add_argument(
        "--admin-allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="name of the admin port, besides addresses and localhost; may be repeated",
    )


def add_parent_argument(command: argparse.ArgumentParser) -> None:
    """Add the option for programs that start this one."""
    command.add_argument(
        "--until-stdin-closes",
        action="store_true",
        help="stop also when standard input is closed: a program that starts this one with a pipe"
        " takes it along when it ends",
    )


class _ShowVersion(argparse.Action):
    """Print the version. Look it up only here, since that takes time."""

    def __call__(self, parser: argparse.ArgumentParser, *_arguments: object) -> None:
        from importlib.metadata import version  # noqa: PLC0415 - see the docstring

        print(f"mock-kafka {version('mock-kafka')}")
        parser.exit()


def host_of(text: str) -> str:
    """Return a host of the command line without brackets."""
    host = without_brackets(text)
    if not host:
        raise argparse.ArgumentTypeError("the host is empty; 0.0.0.0 means all addresses")
    return host


def port_of(text: str) -> int:
    """Return a port of the command line."""
    if not text.isdecimal() or int(text) > PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to {PORT_MAX}")
    return int(text)


def _broker_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 100")
    return int(text)


def _node_id(text: str) -> int:
    if not text.isdecimal() or int(text) > NODE_ID_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {NODE_ID_MAX}")
    return int(text)


@may_pause
def serve_options(
    parsed: argparse.Namespace, environment: Mapping[str, str] = NO_VARIABLES
) -> ServeOptions:
    """Return the options in the arguments of `serve`, and the keys in the environment.

    Raises:
        ConfigError: a key is unknown, a value is invalid, or a file can't be read or is invalid.
    """
    overrides = [*(f"{key}={text}" for key, text in keys_in(environment).items())]
    overrides += parsed.overrides
    if parsed.first_node_id is not None:
        overrides = [*overrides, f"node.id={parsed.first_node_id}"]
    snapshot = read_snapshot(parsed.snapshot)
    config = read_config(parsed.config, overrides, {} if snapshot is None else snapshot.config)
    return ServeOptions(
        host=parsed.host,
        port=parsed.port,
        advertised_host=parsed.advertised_host,
        broker_count=max(parsed.brokers, 1 if snapshot is None else snapshot.broker_count),
        config=config,
        log_level=parsed.log_level,
        log_format=parsed.log_format,
        admin_host=parsed.admin_host,
        admin_allowed_hosts=tuple(parsed.admin_allowed_host),
        admin_port=parsed.admin_port,
        faults=read_faults(parsed.faults),
        has_tls=parsed.tls,
        has_sasl=parsed.sasl,
        snapshot=snapshot,
    )


@may_pause
def main(
    arguments: Sequence[str] | None = None, environment: Mapping[str, str] = NO_VARIABLES
) -> int:
    """Run a command; return the exit status.

    `environment` has defaults for the options of `serve`. A program that starts a cluster of its
    own passes none.
    """
    parsed, unknown = build_parser(environment).parse_known_args(arguments)
    if unknown:
        refuse_unknown(parsed.parser, unknown)
    try:
        if parsed.command == "certs":
            _make_certificates(parsed.out, parsed.hosts or LOCAL_HOSTS, parsed.clients, parsed.days)
            return 0
        open_missing_streams()
        if parsed.until_stdin_closes:
            terminate_when_stdin_closes()
        run(serve(serve_options(parsed, environment)))
    except (ConfigError, StartError) as error:
        print(f"mock-kafka: {error}", file=sys.stderr)
        return 1
    return 0


def refuse_unknown(parser: argparse.ArgumentParser, unknown: Sequence[str]) -> None:
    """Exit because of arguments that a parser does not know."""
    options = [option for action in parser._actions for option in action.option_strings]
    hint = did_you_mean(unknown[0].partition("=")[0], options)
    parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")


def _make_certificates(
    folder: Path, hosts: Sequence[str], clients: Sequence[str], valid_days: int
) -> None:
    from broker.server import certificates  # noqa: PLC0415 - slow import, not needed to serve

    try:
        now_ms = SystemClock().now_ms()
        files = certificates.write_certificates(folder, hosts, clients, now_ms, valid_days)
    except OSError as error:
        raise StartError(f"cannot write to {folder}: {error.strerror or error}") from error
    print(certificates.describe_certificates(folder, files))


def run(serving: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine in an event loop of uvloop, if there is one; return its result."""
    try:
        import uvloop  # noqa: PLC0415 - missing on Windows
    except ImportError:
        return asyncio.run(serving)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(serving)
