"""Sessions that send a load once."""

from typing import TYPE_CHECKING, Any, cast

import pytest

from loadgen.spark_session import HONEST, dishonest_settings, first_line, settings, slots_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FakeConf:
    """The settings of a session."""

    def __init__(self, **changes: str) -> None:
        self._values = {**settings(), **{f"spark.{key}": value for key, value in changes.items()}}

    def get(self, key: str, default: str) -> str:
        return self._values.get(key, default)


class FakeSession:
    """A session that is nothing but settings."""

    def __init__(self, **changes: str) -> None:
        self.conf: Any = FakeConf(**changes)


def dishonest(**changes: str) -> list[str]:
    return dishonest_settings(cast("SparkSession", FakeSession(**changes)))


def test_our_own_settings_are_honest() -> None:
    assert dishonest() == []


def test_what_would_send_a_load_twice_is_named() -> None:
    assert dishonest(**{"task.maxFailures": "4"}) == [
        "spark.task.maxFailures=4, and a load needs 1"
    ]
    assert dishonest(speculation="true") == ["spark.speculation=true, and a load needs false"]


def test_unset_is_what_spark_takes_it_for() -> None:
    session = FakeSession()
    session.conf._values = {}
    told = dishonest_settings(cast("SparkSession", session))
    assert [each.partition("=")[0] for each in told] == [
        key for key, value in HONEST.items() if value == "1"
    ]


@pytest.mark.parametrize(
    ("master", "slots"),
    [("local", 1), ("local[3]", 3), ("local[4,2]", 4), ("spark://h:1", None), ("yarn", None)],
)
def test_a_local_master_says_how_many_slots_it_has(master: str, slots: int | None) -> None:
    assert slots_of(master) == slots


def test_a_local_master_may_take_all_cores() -> None:
    assert (slots_of("local[*]") or 0) >= 1


def test_an_error_is_told_by_its_first_line() -> None:
    assert first_line(ValueError("  one\ntwo")) == "one"
    assert first_line(ValueError()) == "ValueError"
