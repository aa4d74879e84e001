"""The matrix of a run as a DataFrame: each client in each situation with each seed, once."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from atlas.rows import EXPERIMENTS
from atlas.situation import Situation, situation_digest
from loadgen.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXPERIMENTS_PER_LANE = 2
"""Of a task, few: what it has done is written at its end."""
PLANNED = (
    "experiment_id string, client string, client_version string, situation string, area string,"
    " seed int, task int"
)
_ID_CHARACTERS = 16


class ClientRelease(NamedTuple):
    """A client, and the version that its adapter says it has."""

    client: str
    client_version: str


def planned(
    spark: "SparkSession",
    releases: Sequence[ClientRelease],
    situations: Iterable[Situation],
    seeds: Sequence[int],
    atlas_version: str,
) -> "DataFrame":
    """Return a row for each experiment of a matrix, with its id.

    The id is a hash of all that an experiment depends on: the client and its version, the file of
    the situation, the seed, and the version of the adapters and verdicts.
    """
    from pyspark.sql import functions as F  # noqa: PLC0415 - the usual name; slow to import

    clients = spark.createDataFrame(list(releases), "client string, client_version string")
    rows = [
        (situation.id, situation.area, situation_digest(situation.id), _cluster_key(situation))
        for situation in situations
    ]
    schema = "situation string, area string, digest string, cluster_key string"
    matrix = clients.crossJoin(spark.createDataFrame(rows, schema)).crossJoin(
        spark.createDataFrame([(seed,) for seed in seeds], "seed int")
    )
    parts = ("client", "client_version", "digest", "seed")
    hashed = F.concat_ws("/", *parts, F.lit(atlas_version))
    return matrix.withColumn("experiment_id", F.sha2(hashed, 256).substr(1, _ID_CHARACTERS))


def missing(matrix: "DataFrame", storage: Storage) -> "DataFrame":
    """Return the experiments of a matrix that a folder does not have yet."""
    if not storage.names(EXPERIMENTS):
        return matrix
    spark = matrix.sparkSession
    done = spark.read.parquet(storage.of(EXPERIMENTS)).select("experiment_id")
    return matrix.join(done, "experiment_id", "left_anti")


def in_tasks(matrix: "DataFrame", lanes_per_task: int) -> "tuple[DataFrame, int]":
    """Return the experiments, each task's in one partition, and the number of tasks.

    A task has one client, and situations that use the same clusters are beside each other. Tasks of
    the same client follow each other.
    """
    from pyspark.sql import Window  # noqa: PLC0415 - slow to import
    from pyspark.sql import functions as F  # noqa: PLC0415 - the usual name

    by_client = Window.partitionBy("client", "client_version")
    place = F.row_number().over(by_client.orderBy("cluster_key", "situation", "seed")) - 1
    of_client = F.floor(place / (EXPERIMENTS_PER_LANE * lanes_per_task))
    numbered = matrix.withColumn("of_client", of_client)
    task = F.dense_rank().over(Window.orderBy("client", "client_version", "of_client")) - 1
    names = [column.split()[0] for column in PLANNED.split(", ")]
    rows: list[Any] = numbered.withColumn("task", task).select(*names).collect()
    tasks = 1 + max((row["task"] for row in rows), default=-1)
    # Planned once: Spark would compute the matrix again in each stage.
    placed = matrix.sparkSession.createDataFrame(rows, PLANNED)
    return placed.repartitionById(max(tasks, 1), F.col("task")), tasks


def _cluster_key(situation: Situation) -> str:
    return f"{situation.brokers} {situation.release} {sorted(situation.config.items())}"
