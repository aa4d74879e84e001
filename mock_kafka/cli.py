"""The console script `mock-kafka`: run the command that the first argument names.

A command is imported when it is run, so that it does not load the others.
"""

import os
import sys
from collections.abc import Sequence

from mock_kafka.near_names import did_you_mean


def _serve(arguments: Sequence[str]) -> int:
    from broker.__main__ import main  # noqa: PLC0415

    return main(arguments, os.environ)


def _proxy(arguments: Sequence[str]) -> int:
    from proxy.__main__ import main  # noqa: PLC0415

    return main(arguments[1:], os.environ)


def _certs(arguments: Sequence[str]) -> int:
    from broker.__main__ import main  # noqa: PLC0415

    return main(arguments)


def _topics(arguments: Sequence[str]) -> int:
    if "--compact" in arguments:
        from mock_kafka.compact_command import main as compact  # noqa: PLC0415

        return compact(arguments[1:])
    from client.tools.topics import main  # noqa: PLC0415

    return main(arguments[1:])


def _configs(arguments: Sequence[str]) -> int:
    from client.tools.configs import main  # noqa: PLC0415

    return main(arguments[1:])


def _groups(arguments: Sequence[str]) -> int:
    from client.tools.groups import main  # noqa: PLC0415

    return main(arguments[1:])


def _acls(arguments: Sequence[str]) -> int:
    from client.tools.acls import main  # noqa: PLC0415

    return main(arguments[1:])


def _record(arguments: Sequence[str]) -> int:
    from proxy.recording.command import main  # noqa: PLC0415

    return main(arguments[1:])


def _scenario(arguments: Sequence[str]) -> int:
    from scenarios.cli import main  # noqa: PLC0415

    return main(arguments[1:])


def _atlas(arguments: Sequence[str]) -> int:
    from atlas.cli import main  # noqa: PLC0415

    return main(arguments[1:])


def _load(arguments: Sequence[str]) -> int:
    from mock_kafka.load import main  # noqa: PLC0415

    return main(arguments[1:])


def _admin(arguments: Sequence[str]) -> int:
    from mock_kafka.admin_commands import main  # noqa: PLC0415

    return main(arguments)


def _explore(arguments: Sequence[str]) -> int:
    from mock_kafka.explore_command import main  # noqa: PLC0415

    return main(arguments[1:])


def _completion(arguments: Sequence[str]) -> int:
    from mock_kafka.completion import build_parser, script  # noqa: PLC0415

    print(script(build_parser().parse_args(arguments[1:]).shell))
    return 0


COMMANDS = {
    "serve": (_serve, "start a cluster, and serve until SIGINT or SIGTERM"),
    "proxy": (_proxy, "serve in front of another Kafka cluster, with faults and a journal"),
    "certs": (_certs, "create a test CA and certificates for TLS"),
    "topics": (_topics, "create, list, describe, alter, delete and compact topics"),
    "configs": (_configs, "describe and alter configurations and client quotas"),
    "groups": (_groups, "list, describe and delete groups, reset and delete offsets"),
    "acls": (_acls, "add, remove and list the rules of access control lists"),
    "record": (_record, "write what a Kafka cluster has to a file, with scrubbed records"),
    "faults": (_admin, "list, add and remove the fault rules of a running cluster"),
    "requests": (_admin, "list past requests, or write them to a file for Wireshark"),
    "clock": (_admin, "show, move, stop or speed up the clock of a running cluster"),
    "brokers": (_admin, "list, stop, start, isolate and add brokers of a running cluster"),
    "snapshot": (_admin, "save the setup of a running cluster to a file, or load it"),
    "health": (_admin, "tell whether a cluster serves, or wait for it"),
    "explore": (_explore, "run a command under schedules of faults, and shrink what fails"),
    "scenario": (_scenario, "run an experiment with clients, faults and quotas"),
    "atlas": (_atlas, "measure what clients do with everything that a broker can answer"),
    "load": (_load, "run a load plan with PySpark, and write a report"),
    "completion": (_completion, "print a script that completes commands and options in a shell"),
}

HELP = f"""\
usage: mock-kafka COMMAND [OPTION...]

A Kafka cluster in one process that real Kafka clients cannot tell from a real
one, and command line tools like Kafka's own, for this or any other Kafka cluster.

commands:
{"".join(f"  {name:10} {text}" + chr(10) for name, (_, text) in COMMANDS.items())}
options:
  -h, --help     show this and exit; mock-kafka COMMAND --help describes COMMAND
  -V, --version  show it and exit

examples:
  mock-kafka serve
      one broker on 127.0.0.1:9092
  mock-kafka serve --port 0 --brokers 3 -o num.partitions=6
      three brokers on free ports, which the first line of output lists
  mock-kafka proxy --to kafka:9092 --port 9192 --admin-port 9099
      faults, throttles and past requests of clients of a real cluster
  mock-kafka certs --out certificates --client CN=alice
      keys and certificates for a TLS listener and its clients, and the settings
  mock-kafka topics --bootstrap-server 127.0.0.1:9092 --create --topic orders
      like kafka-topics.sh
  mock-kafka configs --bootstrap-server 127.0.0.1:9092 --alter \\
      --add-config controller_mutation_rate=10 --entity-type users --entity-name user1
      like kafka-configs.sh
  mock-kafka groups --bootstrap-server 127.0.0.1:9092 --describe --all-groups
      like kafka-consumer-groups.sh and kafka-share-groups.sh
  mock-kafka acls --bootstrap-server 127.0.0.1:9092 --list
      like kafka-acls.sh
  mock-kafka record --from localhost:9092 --out world.mk --scrub scrub.yaml
      for MockKafka(snapshot="world.mk"): a copy of a cluster without its secrets
  mock-kafka faults add '{{"api": "Produce", "drop": "before_response", "times": 1}}'
  mock-kafka requests list --api Produce
  mock-kafka clock advance 3600
  mock-kafka brokers stop 2
  mock-kafka snapshot save setup.json
  mock-kafka health --wait 30
      for a cluster with --admin-port 9099; others with --admin-url, behind the command
  mock-kafka explore --command 'pytest tests/test_orders.py' --runs 200
      find the fault rules with which it fails, as few and simple as possible
  mock-kafka scenario delivery-timeout --out pictures
      how long clients wait before they report a timeout, for seven kinds of faults
  mock-kafka atlas try kafka-python PRODUCE-LOST-1
      what a client does when a response is lost, with a verdict
  mock-kafka load producer-churn --out churn
      run a built-in plan against a new cluster, and write churn/report.html
  eval "$(mock-kafka completion bash)"
      in ~/.bashrc: the Tab key completes commands and options; also zsh and fish
"""

EXTRAS = {
    "atlas": "analysis",
    "completion": "completion",
    "record": "recording",
    "scenario": "scenarios",
}
"""The extra that a command needs; `mock-kafka load` has one for each subcommand."""

USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status.

    Without `arguments` it is a program. If its environment lacks the packages of the broker, then
    it runs the `mock-kafka` of another environment instead.
    """
    given = sys.argv[1:] if arguments is None else arguments
    try:
        return _run(given)
    except ImportError:
        from mock_kafka.missing_requirements import explanation  # noqa: PLC0415 - for an error

        command = given[0] if given else ""
        reason = explanation()
        if reason and arguments is None:
            from mock_kafka.broker_command import execute_other  # noqa: PLC0415 - the same

            try:
                execute_other(given)
            except OSError as error:
                reason = f"{reason}, and now is {error.filename}: {error.strerror}"
        if not reason and command in EXTRAS:
            reason = explanation(EXTRAS[command])
            reason = reason and f"this command needs {reason}"
        if not reason:
            raise
        print(f"mock-kafka {command}: {reason}", file=sys.stderr)
        return 1


def _run(arguments: Sequence[str]) -> int:
    if "_ARGCOMPLETE" in os.environ:
        from mock_kafka.completion import complete  # noqa: PLC0415 - only for the Tab key

        complete({name: summary for name, (_, summary) in COMMANDS.items()})
    command = arguments[0] if arguments else ""
    if command in {"-h", "--help"}:
        print(HELP, end="")
        return 0
    if command in {"-V", "--version"}:
        from importlib.metadata import version  # noqa: PLC0415 - slow, and rarely used

        print(f"mock-kafka {version('mock-kafka')}")
        return 0
    if command not in COMMANDS:
        unknown = f"mock-kafka: unknown command {command!r}{did_you_mean(command, COMMANDS)}\n"
        more = "mock-kafka --help lists the commands\n"
        print(f"{unknown}{more}" if command else HELP, end="", file=sys.stderr)
        return USAGE_ERROR
    run, _ = COMMANDS[command]
    return run(arguments)
