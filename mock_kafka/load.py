"""`mock-kafka load`: hands over to the load generator, which starts a cluster with what is here."""

import sys
from collections.abc import Sequence

from mock_kafka.cluster import MockKafka

_MISSING = "mock-kafka load needs PySpark and what goes with it: pip install 'mock-kafka[spark]'"


def main(arguments: Sequence[str]) -> int:
    """Run a load plan; returns the exit status."""
    try:
        import pyspark  # noqa: F401, PLC0415 - many have not installed it

        from loadgen import cli  # noqa: PLC0415 - the same
    except ModuleNotFoundError as error:
        print(f"{_MISSING} ({error.name} is not here)", file=sys.stderr)
        return 2

    def own_broker(brokers: int, config: dict[str, str], has_admin_port: bool, /) -> MockKafka:
        return MockKafka(brokers, config, admin_port=0 if has_admin_port else None)

    return cli.main(arguments, own_broker)
