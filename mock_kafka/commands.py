"""The commands of `mock-kafka`, and the modules that run them.

A module is named, and imported when its command runs: a command does not load the others. The
scenarios and the atlas use `MockKafka`, so nothing here can import them.
"""

from importlib import import_module
from types import ModuleType

import broker

ADMIN_COMMANDS = ".admin_commands"

COMMANDS = {
    "serve": ("broker.__main__", "start a cluster, and serve until SIGINT or SIGTERM"),
    "proxy": (
        "proxy.__main__",
        "serve in front of another Kafka cluster, with faults and a journal",
    ),
    "certs": ("broker.__main__", "create a test CA and certificates for TLS"),
    "topics": ("client.tools.topics", "create, list, describe, alter, delete and compact topics"),
    "configs": ("client.tools.configs", "describe and alter configurations and client quotas"),
    "groups": ("client.tools.groups", "list, describe and delete groups, reset and delete offsets"),
    "acls": ("client.tools.acls", "add, remove and list the rules of access control lists"),
    "record": (
        "proxy.recording.command",
        "write what a Kafka cluster has to a file, with scrubbed records",
    ),
    "faults": (ADMIN_COMMANDS, "list, add and remove the fault rules of a running cluster"),
    "requests": (ADMIN_COMMANDS, "list past requests, or write them to a file for Wireshark"),
    "clock": (ADMIN_COMMANDS, "show, move, stop or speed up the clock of a running cluster"),
    "brokers": (ADMIN_COMMANDS, "list, stop, start, isolate and add brokers of a running cluster"),
    "snapshot": (ADMIN_COMMANDS, "save the setup of a running cluster to a file, or load it"),
    "health": (ADMIN_COMMANDS, "tell whether a cluster serves, or wait for it"),
    "explore": (
        ".explore_command",
        "run a command under schedules of faults, and shrink what fails",
    ),
    "scenario": ("scenarios.cli", "run an experiment with clients, faults and quotas"),
    "atlas": ("atlas.cli", "measure what clients do with everything that a broker can answer"),
    "load": (".load", "run a load plan with PySpark, and write a report"),
    "completion": (".completion", "print a script that completes commands and options in a shell"),
}
"""The module of each command, as `imported` finds it, and what the command does."""


def place_of(name: str) -> str:
    """Return where a module is: in the wheel all packages are inside `mock_kafka`."""
    return name if name.startswith(".") else f"{broker.__name__.removesuffix('broker')}{name}"


def imported(name: str) -> ModuleType:
    """Import a module by the name that it has in the repository; `.load` is in `mock_kafka`.

    Raises:
        ImportError: a package of an extra is missing.
    """
    return import_module(place_of(name), __package__)
