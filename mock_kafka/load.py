"""`mock-kafka load`: run the load generator, which can start a `MockKafka`."""

import sys
from collections.abc import Sequence

from mock_kafka.cluster import MockKafka

_WITHOUT_SPARK = frozenset({"compare", "learn", "pack", "quotas"})
"""The subcommands that start no Spark session."""


def main(arguments: Sequence[str]) -> int:
    """Run a load plan; return the exit status. Help needs none of the optional packages."""
    if {"-h", "--help"} & set(arguments):
        from loadgen.options import SUBCOMMANDS, parser_of  # noqa: PLC0415 - only for help

        if arguments[0] not in SUBCOMMANDS:
            parser_of("mock-kafka load").parse_args(["--help"])
    subcommand = arguments[0] if arguments and arguments[0] in _WITHOUT_SPARK else None
    try:
        if subcommand is None:
            import pyspark  # noqa: F401, PLC0415 - an optional dependency

        from loadgen import cli  # noqa: PLC0415 - the same
    except ModuleNotFoundError as error:
        print(_missing(subcommand, error.name), file=sys.stderr)
        return 2

    def own_broker(brokers: int, config: dict[str, str], has_admin_port: bool, /) -> MockKafka:
        return MockKafka(brokers, config, admin_port=0 if has_admin_port else None)

    return cli.main(arguments, own_broker)


def _missing(subcommand: str | None, package: str | None) -> str:
    """Return the line that says which extra has a package that is not installed."""
    if subcommand is None:
        needed = "mock-kafka load needs PySpark: pip install 'mock-kafka[spark]'"
    else:
        extra = "spark" if subcommand == "pack" else "analysis"
        needed = f"mock-kafka load {subcommand} needs pip install 'mock-kafka[{extra}]'"
    return f"{needed} ({package} is not installed)"
