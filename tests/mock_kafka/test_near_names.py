"""Suggestions for misspelled names."""

import pytest

from mock_kafka.near_names import did_you_mean


@pytest.mark.parametrize(
    ("name", "hint"), [("serv", "; did you mean serve?"), ("xyz", ""), ("certs", "")]
)
def test_the_nearest_name_is_suggested_if_there_is_one(name: str, hint: str) -> None:
    assert did_you_mean(name, ["serve", "topics"]) == hint
