from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas.matrix_plan import ClientRelease, in_tasks, missing, planned
from atlas.situation import load_situations
from loadgen.storage import Storage
from tests.atlas.run_folder import row, write_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SITUATIONS = list(load_situations(["PRODUCE-C*"]).values())
RELEASES = [ClientRelease("kafka-python", "3.0"), ClientRelease("aiokafka", "0.14")]


def matrix_of(spark: "SparkSession", seeds: int = 2, version: str = "1.0") -> "DataFrame":
    return planned(spark, RELEASES, SITUATIONS, range(1, seeds + 1), version)


def ids(frame: "DataFrame") -> set[str]:
    return {row["experiment_id"] for row in frame.collect()}


def test_the_id_depends_on_all_that_an_experiment_depends_on(spark: "SparkSession") -> None:
    found = ids(matrix_of(spark))
    assert len(found) == len(RELEASES) * len(SITUATIONS) * 2
    assert ids(matrix_of(spark)) == found
    assert ids(matrix_of(spark, seeds=3)) > found
    assert not ids(matrix_of(spark, version="1.1")) & found


def test_what_is_there_is_not_run_again(spark: "SparkSession", tmp_path: Path) -> None:
    matrix = matrix_of(spark)
    assert ids(missing(matrix, Storage(str(tmp_path)))) == ids(matrix)
    done = sorted(ids(matrix))[:5]
    storage = write_run(tmp_path / "run", [row(experiment_id=one) for one in done])
    assert ids(missing(matrix, storage)) == ids(matrix) - set(done)


def test_a_task_has_few_experiments_of_one_client(spark: "SparkSession") -> None:
    tasks, count = in_tasks(matrix_of(spark), lanes_per_task=2)
    assert tasks.rdd.getNumPartitions() == count
    by_task: dict[int, list[Any]] = defaultdict(list)
    for experiment in tasks.collect():
        by_task[experiment["task"]].append(experiment)
    assert sorted(by_task) == list(range(count))
    assert sum(map(len, by_task.values())) == len(RELEASES) * len(SITUATIONS) * 2
    for experiments in by_task.values():
        assert len(experiments) <= 4
        assert len({experiment["client"] for experiment in experiments}) == 1
