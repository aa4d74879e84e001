"""`mock-kafka load`: run the load generator, which can start a `MockKafka`."""

import sys
from collections.abc import Sequence

from mock_kafka.cluster import MockKafka
from mock_kafka.missing_requirements import explanation

_EXTRAS_WITHOUT_SPARK = {
    "compare": "analysis",
    "learn": "analysis",
    "pack": "spark",
    "quotas": "analysis",
}
"""The subcommands that start no Spark session, and the extra that each needs."""


def main(arguments: Sequence[str]) -> int:
    """Run a load plan; return the exit status. Help needs none of the optional packages."""
    if {"-h", "--help"} & set(arguments):
        from loadgen.options import SUBCOMMANDS, parser_of  # noqa: PLC0415 - only for help

        if arguments[0] not in SUBCOMMANDS:
            parser_of("mock-kafka load").parse_args(["--help"])
    subcommand = arguments[0] if arguments and arguments[0] in _EXTRAS_WITHOUT_SPARK else None
    try:
        if subcommand is None:
            import pyspark  # noqa: F401, PLC0415 - an optional dependency

        from loadgen import cli  # noqa: PLC0415 - the same
    except ModuleNotFoundError:
        missing = explanation(_EXTRAS_WITHOUT_SPARK[subcommand] if subcommand else "spark")
        if not missing or explanation():
            raise  # no package of the extra; `mock_kafka.cli` knows what to do
        words = ("mock-kafka load", *filter(None, [subcommand]))
        print(f"{' '.join(words)} needs {missing}", file=sys.stderr)
        return 2

    def own_broker(brokers: int, config: dict[str, str], has_admin_port: bool, /) -> MockKafka:
        return MockKafka(brokers, config, admin_port=0 if has_admin_port else None)

    return cli.main(arguments, own_broker)
