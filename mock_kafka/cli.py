"""The console script `mock-kafka`: call the command line of the command that is named.

Each is imported when it is called, so that a command does not load the others.
"""

import sys
from collections.abc import Sequence


def _broker(arguments: Sequence[str]) -> int:
    from broker.__main__ import main  # noqa: PLC0415

    return main(arguments)


def _topics(arguments: Sequence[str]) -> int:
    from client.tools.topics import main  # noqa: PLC0415

    return main(arguments[1:])


def _configs(arguments: Sequence[str]) -> int:
    from client.tools.configs import main  # noqa: PLC0415

    return main(arguments[1:])


def _scenario(arguments: Sequence[str]) -> int:
    from scenarios.cli import main  # noqa: PLC0415

    return main(arguments[1:])


def _load(arguments: Sequence[str]) -> int:
    from mock_kafka.load import main  # noqa: PLC0415

    return main(arguments[1:])


COMMANDS = {
    "serve": (_broker, "start a cluster and serve until a signal"),
    "certs": (_broker, "make a throw-away CA and certificates for TLS"),
    "topics": (_topics, "create, list, describe, alter and delete topics"),
    "configs": (_configs, "configurations and client quotas"),
    "scenario": (_scenario, "experiments: what clients do when it gets difficult"),
    "load": (_load, "drive a cluster by a load plan, with PySpark; a report"),
}

HELP = f"""\
usage: mock-kafka COMMAND [OPTION...]

A Kafka cluster in one process that real Kafka clients believe, and command line
tools in the habit of Kafka's own, for this or any other Kafka cluster.

commands:
{"".join(f"  {name:9} {text}" + chr(10) for name, (_, text) in COMMANDS.items())}
options:
  -h, --help   show this and exit; mock-kafka COMMAND --help describes COMMAND
  --version    show it and exit

examples:
  mock-kafka serve
      one broker on 127.0.0.1:9092
  mock-kafka serve --port 0 --brokers 3 -o num.partitions=6
      three brokers on free ports; the first line printed says which
  mock-kafka certs --out certificates --client CN=alice
      what a TLS listener and its clients need, and how to set it
  mock-kafka topics --bootstrap-server 127.0.0.1:9092 --create --topic orders
      like kafka-topics.sh
  mock-kafka configs --bootstrap-server 127.0.0.1:9092 --alter \\
      --add-config controller_mutation_rate=10 --entity-type users --entity-name user1
      like kafka-configs.sh
  mock-kafka scenario delivery-timeout --out pictures
      how long clients let a record wait in each kind of trouble
  mock-kafka load producer-churn --out churn
      a built-in plan against a cluster of its own; churn/report.html
"""

USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    word = arguments[0] if arguments else ""
    if word in {"-h", "--help"}:
        print(HELP, end="")
        return 0
    if word == "--version":
        from importlib.metadata import version  # noqa: PLC0415 - slow, and rarely asked for

        print(f"mock-kafka {version('mock-kafka')}")
        return 0
    if word not in COMMANDS:
        wrong = f"mock-kafka: {word!r} is no command\n" if word else ""
        print(f"{wrong}{HELP}", end="", file=sys.stderr)
        return USAGE_ERROR
    run, _ = COMMANDS[word]
    return run(arguments)
