"""The program for `spark-submit`: run a load plan in the session that Spark provides.

docs/load.md has the command line.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from loadgen.cli import run_to_exit_status
from loadgen.load_run import LoadError, OwnBroker, run
from loadgen.options import parser_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(arguments: Sequence[str]) -> int:
    """Run a plan in a session whose master and settings come from Spark; return the exit status."""
    options = parser_of("job.py").parse_args(arguments)
    options.master = "spark-submit"  # the real one is known once there is a session

    @contextmanager
    def session() -> Iterator["SparkSession"]:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - slow to import

        spark = SparkSession.builder.getOrCreate()
        options.master = spark.conf.get("spark.master", None) or "Spark"
        yield spark
        spark.stop()

    def no_broker(
        _brokers: int, _config: dict[str, str], _has_admin_port: bool, /
    ) -> AbstractContextManager[OwnBroker]:
        raise LoadError("spark-submit needs the address of a cluster: --bootstrap-server")

    return run_to_exit_status(lambda: run(options, session, no_broker, ends_session=True))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
