from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas.analysis import changes, figures
from tests.atlas.run_folder import row, write_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOST, LATE = "PRODUCE-CORRUPT_MESSAGE-once", "PRODUCE-CORRUPT_MESSAGE-always"


def cell_of(found: dict[str, list[dict[str, Any]]], client: str) -> dict[str, Any]:
    (cell,) = (one for one in found["cells"] if one["client"] == client)
    return cell


def test_a_cell_is_the_most_frequent_and_the_worst_of_equals(
    spark: "SparkSession", tmp_path: Path
) -> None:
    cells = {
        "aiokafka": ("as_expected", "wrong", "as_expected"),
        "sarama": ("as_expected", "wrong"),
        "kafkajs": ("differs", "differs"),
    }
    rows = [
        row(cell, client=client, seed=seed)
        for client, of in cells.items()
        for seed, cell in enumerate(of)
    ]
    found = figures(spark, write_run(tmp_path / "run", rows))
    often = cell_of(found, "aiokafka")
    assert (often["cell"], often["is_flaky"], often["seed"]) == ("as_expected", True, 0)
    assert often["cells"] == ["as_expected", "wrong"]
    assert (cell_of(found, "sarama")["cell"], cell_of(found, "sarama")["experiments"]) == (
        "wrong",
        2,
    )
    assert not cell_of(found, "kafkajs")["is_flaky"]
    assert [(one["client"], one["cell"], one["flaky"]) for one in found["counts"]] == [
        ("aiokafka", "as_expected", 1),
        ("kafkajs", "differs", 0),
        ("sarama", "wrong", 1),
    ]
    assert {one["experiment_id"] for one in found["requests"]} == {
        one["experiment_id"] for one in found["cells"]
    }


def test_the_newest_run_of_an_experiment_counts(spark: "SparkSession", tmp_path: Path) -> None:
    rows = [
        row("wrong", experiment_id="old", started_ms=1),
        row("as_expected", experiment_id="new", started_ms=2),
    ]
    (cell,) = figures(spark, write_run(tmp_path / "run", rows))["cells"]
    assert (cell["experiment_id"], cell["experiments"]) == ("new", 1)


def test_outliers_are_beyond_what_most_clients_do(spark: "SparkSession", tmp_path: Path) -> None:
    rows = [
        row(client=client, situation=situation, outcome_ms=outcome_ms, retries=retries)
        for situation, figures_of in {
            LOST: {"one": (10.0, 1), "two": (20.0, 2), "three": (900.0, 1), "four": (30.0, 60)},
            LATE: {"one": (2_000.0, 0), "two": (1_500.0, 0), "three": (20_000.0, 0)},
        }.items()
        for client, (outcome_ms, retries) in figures_of.items()
    ]
    found = figures(spark, write_run(tmp_path / "run", rows))["outliers"]
    assert [(one["client"], one["situation"], one["measure"]) for one in found] == [
        ("four", LOST, "retries"),
        ("three", LATE, "outcome_ms"),
    ]


def test_the_release_where_a_cell_changed(spark: "SparkSession", tmp_path: Path) -> None:
    versions = {"java-2.8": ("2.8.2", "wrong"), "java-3.9": ("3.9.1", "wrong")}
    versions["java-4.4"] = ("4.4.0", "as_expected")
    rows = [
        row(cell, client=client, client_version=version)
        for client, (version, cell) in versions.items()
    ]
    rows.append(row("wrong", client="confluent-kafka==2.3.0", client_version="2.3.0"))
    rows.append(row("differs", client="confluent-kafka", client_version="2.16.1"))
    found = figures(spark, write_run(tmp_path / "run", rows))["releases"]
    assert [tuple(one.values()) for one in found] == [
        ("confluent-kafka", LOST, "2.3.0", "2.16.1", "wrong", "differs"),
        ("java", LOST, "3.9.1", "4.4.0", "wrong", "as_expected"),
    ]


def test_changes_between_runs_name_regressions_first(spark: "SparkSession", tmp_path: Path) -> None:
    def run(name: str, **cells: str) -> Any:
        return write_run(tmp_path / name, [row(cell, client=one) for one, cell in cells.items()])

    before = run("before", aiokafka="wrong", sarama="as_expected", kafkajs="differs", old="wrong")
    after = run("after", aiokafka="differs", sarama="wrong", kafkajs="differs", new="wrong")
    assert [
        (one["client"], one["before_cell"], one["after_cell"], one["is_regression"])
        for one in changes(spark, before, after)
    ] == [("sarama", "as_expected", "wrong", True), ("aiokafka", "wrong", "differs", False)]
