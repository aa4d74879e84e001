"""The commands that control a running cluster from a shell, through its admin port."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mock_kafka.control import Control, ControlError
from mock_kafka.health import wait_until_healthy
from mock_kafka.problem_words import command_words
from mock_kafka.snapshot_methods import snapshot_document
from mock_kafka.views import request_of

DEFAULT_PORT = "9099"
COMMANDS = ("brokers", "clock", "faults", "health", "requests", "snapshot")
FAILED = 1

DESCRIPTIONS = {
    "brokers": "Show, stop, start and isolate the brokers of a running cluster.",
    "clock": "Show or move the clock of a running cluster.",
    "faults": "Show or change the fault rules of a running cluster.",
    "health": "Exit with 0 when the cluster serves, and with 1 otherwise.",
    "requests": "Show past requests of a running cluster, or write them to a file.",
    "snapshot": "Save the state of a running cluster to a file, or load it.",
}

EPILOG = f"""\
The cluster is the one at --admin-url, by default MOCK_KAFKA_ADMIN_URL, or the port
MOCK_KAFKA_ADMIN_PORT or {DEFAULT_PORT} of MOCK_KAFKA_ADMIN_HOST or this machine.
MOCK_KAFKA_ADMIN_TOKEN is the token, if the cluster has a broker.admin.token.
"""


def main(arguments: Sequence[str]) -> int:
    """Run one of `COMMANDS`, named by the first argument; return the exit status."""
    options = build_parser(arguments[0]).parse_args(arguments[1:])
    control = Control(options.admin_url, os.environ.get("MOCK_KAFKA_ADMIN_TOKEN"))
    try:
        run(control, arguments[0], options)
    except (ControlError, OSError, ValueError) as error:
        print(f"mock-kafka {arguments[0]}: {_one_line(error)}", file=sys.stderr)
        return FAILED
    finally:
        control.close()
    return 0


def _one_line(error: Exception) -> str:
    if isinstance(error, ControlError):
        return command_words(error.problem)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def build_parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of a command."""
    parser = argparse.ArgumentParser(
        prog=f"mock-kafka {command}",
        description=DESCRIPTIONS[command],
        epilog=EPILOG,
    )
    url = os.environ.get("MOCK_KAFKA_ADMIN_URL") or default_url()
    parser.add_argument("--admin-url", default=url, metavar="URL", help="default: %(default)s")
    if command == "health":
        parser.add_argument(
            "--wait", type=float, default=0, metavar="S", help="wait up to S seconds for it"
        )
        return parser
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _PARSERS[command](actions)
    return parser


def default_url() -> str:
    """Return the URL of a cluster on this machine, with the address that `serve` would use."""
    port = os.environ.get("MOCK_KAFKA_ADMIN_PORT", "")
    host = os.environ.get("MOCK_KAFKA_ADMIN_HOST", "").strip("[]")
    if host in {"", "0.0.0.0", "::"}:  # noqa: S104 - all addresses, so also this one
        host = "127.0.0.1"
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{port if port not in {'', '0'} else DEFAULT_PORT}"


def _add_faults(actions: Any) -> None:
    actions.add_parser("list", help="show all rules and how often they fired")
    add = actions.add_parser("add", help="add the rules of a file, or one rule")
    add.add_argument(
        "rules", metavar="JSON|FILE", help='such as \'{"api": "Fetch", "delay_ms": 5}\''
    )
    remove = actions.add_parser("remove", help="remove a rule")
    remove.add_argument("id", type=int)
    near = actions.add_parser("near", help="show why a rule does not fire, and the near misses")
    near.add_argument("id", type=int)
    release = actions.add_parser("release", help="let the requests go on that a rule holds")
    release.add_argument("id", type=int)
    release.add_argument("--count", type=int, help="the oldest ones only; default: all")
    actions.add_parser("clear", help="remove all rules")


def _add_requests(actions: Any) -> None:
    for name, summary in (
        ("list", "show the last requests"),
        ("pcap", "write the requests to a file for Wireshark"),
    ):
        action = actions.add_parser(name, help=summary)
        for field in ("api", "topic", "partition", "group", "client-id", "user", "error"):
            action.add_argument(f"--{field}", metavar=field.upper())
        action.add_argument(
            "--denied", action="store_true", help="what clients were not allowed to do"
        )
        if name == "list":
            action.add_argument("--limit", type=int, default=100, help="default: %(default)s")
            action.add_argument("--json", action="store_true", help="one JSON object per line")
            action.add_argument(
                "--near", action="store_true", help="those that fit nearly, and how they differ"
            )
        else:
            action.add_argument("file", type=Path)
    show = actions.add_parser("show", help="show one request with its bytes in hex")
    show.add_argument("number", type=int)
    actions.add_parser("clear", help="remove all lines of the journal")


def _add_clock(actions: Any) -> None:
    actions.add_parser("show", help="show the time")
    advance = actions.add_parser("advance", help="move the clock forward")
    advance.add_argument("seconds", type=float)
    mode = actions.add_parser("set", help="set the mode of the clock")
    mode.add_argument("mode", choices=["real", "scaled", "standing"])
    mode.add_argument("--factor", type=float, help="how many times as fast; for scaled")


def _add_brokers(actions: Any) -> None:
    actions.add_parser("list", help="show all brokers")
    actions.add_parser("add", help="add a broker on a free port")
    advertise = actions.add_parser("advertise", help="set the address that clients connect to")
    advertise.add_argument("broker", type=int)
    advertise.add_argument("host")
    advertise.add_argument("port", type=int)
    advertise.add_argument("--listener", metavar="NAME", help="default: the first one")
    for name, summary in (
        ("stop", "close its connections; leaders move"),
        ("start", "start a broker that was stopped, isolated or fenced"),
        ("isolate", "keep its connections, and pass no data"),
        ("fence", "remove it from Metadata; leaders move"),
        ("decommission", "stop it and remove it from the cluster"),
    ):
        actions.add_parser(name, help=summary).add_argument("broker", type=int)


def _add_snapshot(actions: Any) -> None:
    save = actions.add_parser("save", help="write the setup of the cluster to a file")
    save.add_argument("file", type=Path)
    save.add_argument("--without-records", action="store_true")
    save.add_argument("--batches", action="store_true", help="all records as stored batches")
    load = actions.add_parser("load", help="reset the cluster and load a file")
    load.add_argument("file", type=Path)
    load.add_argument("--keep", action="store_true", help="load it again at each reset")
    load.add_argument("--at-once", action="store_true", help="allow fault rules that act at once")
    load.add_argument("--cluster-id", action="store_true", help="take the id of the cluster, too")


_PARSERS = {
    "brokers": _add_brokers,
    "clock": _add_clock,
    "faults": _add_faults,
    "requests": _add_requests,
    "snapshot": _add_snapshot,
}


def run(control: Control, command: str, options: argparse.Namespace) -> None:
    """Carry out an action of a command, and print what it returns.

    Raises:
        ControlError: the cluster refused it.
        ConnectionError: there is no cluster at this URL.
        ValueError: a file or an argument is not JSON.
    """
    if command == "requests":
        _run_requests(control, options)
        return
    if command == "snapshot":
        _run_snapshot(control, options)
        return
    if command == "health":
        wait_until_healthy(control, options.wait)
        return
    method, path, body = _request(command, options)
    found = control.ask(method, path, body)
    if found is not None:
        print(json.dumps(found, indent=2))


def _request(command: str, options: argparse.Namespace) -> tuple[str, str, Any]:
    """Return method, path and body of the request that an action stands for."""
    path, action = f"/v1/{command}", options.action
    if action in {"list", "show"}:
        return "GET", path, None
    if command == "clock" and action == "advance":
        return "POST", f"{path}/advance", {"seconds": options.seconds}
    if command == "clock":
        return "PUT", path, {"mode": options.mode, "factor": options.factor}
    if command == "brokers":
        if action == "add":
            return "POST", path, {}
        if action == "decommission":
            return "DELETE", f"{path}/{options.broker}", None
        if action == "advertise":
            names = ("host", "port", "listener")
            address = {name: getattr(options, name) for name in names}
            return "PUT", f"{path}/{options.broker}/advertised", address
        return "POST", f"{path}/{options.broker}/{action}", None
    if action == "add":
        is_json = options.rules.lstrip().startswith(("{", "["))
        text = options.rules if is_json else Path(options.rules).read_text(encoding="utf-8")
        return "POST", path, json.loads(text)
    if action == "near":
        return "GET", f"{path}/{options.id}/near-misses", None
    if action == "release":
        return "POST", f"{path}/{options.id}/release", {"count": options.count}
    return "DELETE", path if action == "clear" else f"{path}/{options.id}", None


def _run_requests(control: Control, options: argparse.Namespace) -> None:
    if options.action == "clear":
        control.ask("DELETE", "/v1/requests")
    elif options.action == "show":
        print(json.dumps(control.ask("GET", f"/v1/requests/{options.number}"), indent=2))
    else:
        names = ("api", "topic", "partition", "group", "client_id", "user", "error")
        query = {name: getattr(options, name) for name in names}
        query["denied"] = options.denied or None
        if options.action == "pcap":
            options.file.write_bytes(control.ask("GET", "/v1/requests/pcap", query=query))
            return
        if options.near:
            near = control.ask("GET", "/v1/requests/near-misses", query=query)["near_misses"]
            for miss in near:
                print(json.dumps(miss) if options.json else miss["text"])
            return
        listed = {**query, "limit": options.limit, "bodies": options.json}
        for line in control.ask("GET", "/v1/requests", query=listed):
            print(json.dumps(line) if options.json else request_of(line))


def _run_snapshot(control: Control, options: argparse.Namespace) -> None:
    if options.action == "save":
        query = {"records": not options.without_records, "batches": options.batches}
        document = control.ask("GET", "/v1/snapshot", query=query)
        options.file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    else:
        document = snapshot_document(options.file)
        query = {
            "keep": options.keep,
            "at_once": options.at_once,
            "cluster_id": options.cluster_id,
        }
        control.ask("PUT", "/v1/snapshot", document, query=query)
