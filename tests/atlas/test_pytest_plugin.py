"""The pytest plugin of the atlas, with a real client and with an adapter of the project's own."""

import json
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.interop]

pytest_plugins = ["pytester"]

WRONG, RIGHT = "PRODUCE-CORRUPT_MESSAGE-once", "PRODUCE-TOPIC_AUTHORIZATION_FAILED-once"
ADAPTER = f"{sys.executable} -m atlas.adapters.kafka_python"


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(
        "-p", "mock_kafka.atlas", "--atlas-situations", f"{WRONG},{RIGHT}", *options
    )


def test_a_client_fails_where_it_is_wrong(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--atlas-client", "kafka-python")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [f"*atlas: {WRONG}*", "*Produce v*CORRUPT_MESSAGE*", "cell      wrong"]
    )


def test_with_a_baseline_it_fails_where_it_is_worse(pytester: pytest.Pytester) -> None:
    baseline = Path(pytester.path) / "baseline.json"
    client = ("--atlas-client", "mine", "--atlas-command", ADAPTER)
    options = (*client, "--atlas-baseline", str(baseline))
    baseline.write_text(json.dumps({"mine": {WRONG: "wrong"}}))
    run(pytester, *options).assert_outcomes(passed=2)
    baseline.write_text(json.dumps({"mine": {WRONG: "differs"}}))
    result = run(pytester, *options)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["in the baseline it is differs"])


def test_an_unknown_client_is_refused(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--atlas-client", "kafka-pyton")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: no client 'kafka-pyton'; known: *"])
