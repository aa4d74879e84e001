"""What a run has: its rows, and the figures and the map that are computed from them."""

from typing import TYPE_CHECKING

from atlas.engine import count_in
from atlas.rows import EXPERIMENTS
from loadgen.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def count(storage: Storage) -> int:
    """Return how many experiments a folder has."""
    return sum(count_in(name) for name in storage.names(EXPERIMENTS))


def write(spark: "SparkSession", storage: Storage) -> None:
    """Write the figures and the map of all experiments of a folder."""
