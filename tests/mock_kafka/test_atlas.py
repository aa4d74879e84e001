"""`pytest -p mock_kafka.atlas` has the options of the atlas."""

import pytest

pytest_plugins = ["pytester"]


@pytest.mark.slow
def test_without_a_client_there_are_no_more_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    options = ("-p", "mock_kafka.atlas", "--atlas-situations", "PRODUCE-*")
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=1)
