"""Spark's daemon of Python workers, which imports what a worker of the load needs before it forks.

With a local master the setting `spark.python.daemon.module` makes Spark start this module instead
of `pyspark.daemon`. Otherwise each worker would import everything itself, and all of them wait for
the last one.

The threads that numpy and pyarrow have after their import are those of OpenBLAS and jemalloc, which
are prepared for a fork.
"""

import sys
from pathlib import Path


def without_copies(path: list[str]) -> list[str]:
    """Return `path` without the archives that an installed PySpark on it contains.

    Spark puts these copies of PySpark and Py4J first, and Python compiles what it imports from an
    archive each time. Archives of another Spark stay.
    """
    folders = [Path(entry) / "pyspark" for entry in path]
    installed = next((folder for folder in folders if folder.is_dir()), None)
    if installed is None:
        return path
    copies = installed / "python" / "lib"
    return [entry for entry in path if not Path(entry).is_relative_to(copies)]


def main() -> None:
    """Import what the workers need, then fork a worker for each request of Spark."""
    sys.path[:] = without_copies(sys.path)
    import pyspark.worker  # noqa: F401, PLC0415 - from the path above
    from pyspark.daemon import manager  # noqa: PLC0415

    from loadgen import spark_job  # noqa: F401, PLC0415

    manager()


if __name__ == "__main__":
    main()
