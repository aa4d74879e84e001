"""Settings are changed for a job and then restored."""

from types import SimpleNamespace
from typing import Any

import pytest

from loadgen.query_settings import INTERPRETED, changed


class FakeConf(dict[str, str]):
    """The settings of a fake session."""

    def set(self, key: str, value: str) -> None:
        self[key] = value


def test_settings_are_restored_after_an_error() -> None:
    before = dict.fromkeys(INTERPRETED, "before")
    spark: Any = SimpleNamespace(conf=FakeConf(before))
    during: list[dict[str, str]] = []

    def job() -> None:
        with changed(spark, INTERPRETED):
            during.append(dict(spark.conf))
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        job()
    assert during == [INTERPRETED]
    assert spark.conf == before
