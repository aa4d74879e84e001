"""Connection options, the admin client and errors of all tools."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from client.addresses import addresses_of
from client.admin import API_TIMEOUT_MS, Admin
from client.blocking_admin import open_admin
from client.errors import ClientError, ThrottlingQuotaExceededError
from client.security import security_of
from client.transport import REQUEST_TIMEOUT_MS
from protocol.environment import EnvironmentVariableError, resolve_all
from protocol.properties import PropertiesError, parse_properties

CLIENT_ID = "mock-kafka"

CONNECTION_HELP = """\
--command-config names a properties file with the keys of Kafka's clients:
  security.protocol      PLAINTEXT (default), SSL, SASL_PLAINTEXT or SASL_SSL
  sasl.mechanism         PLAIN (default), SCRAM-SHA-256 or SCRAM-SHA-512
  sasl.jaas.config       ... required username="alice" password="secret";
                         (or sasl.username and sasl.password)
  ssl.truststore.location, ssl.keystore.location    PEM files
                         (or ssl.ca.location, ssl.certificate.location,
                         ssl.key.location)
  client.id, request.timeout.ms, default.api.timeout.ms
${env:NAME} in a value is an environment variable. Other keys of Kafka's clients
are ignored.
"""


class ToolError(Exception):
    """An invalid argument or file; the message is one line."""


def tool_parser(
    name: str, description: str, epilog: str, *, needs_servers: bool = True
) -> argparse.ArgumentParser:
    """Return a parser of `mock-kafka NAME` with the connection options.

    `needs_servers` is False if some actions need no cluster: these leave `--bootstrap-server` out.
    """
    parser = argparse.ArgumentParser(
        prog=f"mock-kafka {name}",
        description=description,
        epilog=f"{epilog}\n{CONNECTION_HELP}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--bootstrap-server",
        required=needs_servers,
        type=bootstrap_servers,
        metavar="HOST:PORT[,HOST:PORT...]",
        help="bootstrap brokers",
    )
    parser.add_argument(
        "--command-config", type=Path, metavar="FILE", help="client properties; see below"
    )
    return parser


def exit_status(action: Callable[[], None], prefix: str) -> int:
    """Run a tool's action; print an error as one line on standard error."""
    try:
        action()
    except (ClientError, ToolError) as error:
        print(f"{prefix}{one_line(error)}", file=sys.stderr)
        return 1
    return 0


def one_line(error: Exception) -> str:
    """Return the error as one line; with the throttle time of a quota refusal."""
    text = " ".join(str(error).split())
    if isinstance(error, ThrottlingQuotaExceededError):
        text += f" (throttle_time_ms={error.throttle_time_ms})"
    return text


def admin_of(
    parsed: argparse.Namespace, api_timeout_ms: int | None = None
) -> AbstractContextManager[Admin]:
    """Open an admin client with the options of `tool_parser`.

    `api_timeout_ms` is used instead of `default.api.timeout.ms` of the properties.

    Raises:
        ToolError: the properties file cannot be read, or a value in it is invalid.
        SecurityError: its keys for TLS or SASL are invalid.
    """
    properties = read_properties(parsed.command_config)
    if api_timeout_ms is None:
        api_timeout_ms = milliseconds(properties, "default.api.timeout.ms", API_TIMEOUT_MS)
    return open_admin(
        parsed.bootstrap_server,
        client_id=properties.get("client.id", CLIENT_ID),
        security=security_of(properties),
        request_timeout_ms=milliseconds(properties, "request.timeout.ms", REQUEST_TIMEOUT_MS),
        default_api_timeout_ms=api_timeout_ms,
    )


def read_properties(path: Path | None) -> dict[str, str]:
    """Return the properties in a file like that of `--command-config`; none if there is no file.

    Raises:
        ToolError: the file cannot be read, or a value names a variable that is not set.
    """
    if path is None:
        return {}
    try:
        return resolve_all(parse_properties(path.read_text(encoding="utf-8")), os.environ)
    except EnvironmentVariableError as error:
        raise ToolError(f"{path}: {error}") from error
    except OSError as error:
        raise ToolError(f"cannot read {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, PropertiesError) as error:
        raise ToolError(f"cannot read {path}: {error}") from error


def milliseconds(properties: Mapping[str, str], key: str, default: int) -> int:
    """Return the number of ms that a property has, or the default.

    Raises:
        ToolError: it is no number.
    """
    text = properties.get(key, str(default))
    if not text.isdecimal():
        raise ToolError(f"{key}={text}: expected a number of milliseconds")
    return int(text)


def bootstrap_servers(text: str) -> str:
    """Return the value of an option with addresses, as a type of `argparse`."""
    try:
        addresses_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text
