"""The console script `mock-kafka`: run the command that the first argument names."""

import os
import sys
from collections.abc import Sequence

from mock_kafka.commands import ADMIN_COMMANDS, COMMANDS, imported
from mock_kafka.near_names import did_you_mean

_TAKES_ITS_NAME = {"broker.__main__", ADMIN_COMMANDS}
"""Modules that run more than one command."""
_READS_VARIABLES = {"serve", "proxy"}

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
    is_compaction = command == "topics" and "--compact" in arguments
    module = ".compact_command" if is_compaction else COMMANDS[command][0]
    words = arguments if module in _TAKES_ITS_NAME else arguments[1:]
    variables = (os.environ,) if command in _READS_VARIABLES else ()
    status: int = imported(module).main(words, *variables)
    return status
