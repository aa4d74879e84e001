import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from atlas import results
from atlas.situation import load_situation
from loadgen.command_error import CommandError
from loadgen.storage import Storage
from tests.atlas.run_folder import SITUATION, row, write_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_matrix_and_the_map_are_written_beside_the_rows(
    spark: "SparkSession", tmp_path: Path
) -> None:
    rows = [row("wrong"), row(client="aiokafka", client_version="0.14.0")]
    storage = write_run(tmp_path / "run", rows)
    assert results.count(storage) == 2
    matrix = results.write(spark, storage, "mock-kafka atlas --out DIR")
    assert json.loads(json.dumps(results.read(storage))) == json.loads(json.dumps(matrix))
    assert [cell["client"] for cell in matrix["cells"]] == ["aiokafka", "kafka-python"]
    assert [one["id"] for one in matrix["situations"]] == [SITUATION]
    assert [line.split() for line in results.count_lines(matrix)] == [
        ["client", "as", "expected", "differs", "wrong", "crashed", "unsupported"],
        ["aiokafka", "0.14.0", "1", "0", "0", "0", "0"],
        ["kafka-python", "3.0.12", "0", "0", "1", "0", "0"],
    ]
    assert SITUATION in (tmp_path / "run" / "map.html").read_text(encoding="utf-8")


def test_a_folder_without_a_matrix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        results.read(Storage(str(tmp_path)))
    (tmp_path / "matrix.json").write_text("{")
    with pytest.raises(CommandError, match="no JSON"):
        results.read(Storage(str(tmp_path)))


def test_what_a_situation_does_not_say_is_not_shown() -> None:
    shown = results.shown(load_situation(SITUATION))
    assert {"id", "title", "workload", "faults", "expect"} <= shown.keys()
    assert "release" not in shown
    assert None not in shown["expect"].values()
