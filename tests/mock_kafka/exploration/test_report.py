"""People read the rules, how often they failed, and the seed."""

from dataclasses import replace

from mock_kafka.exploration.report import describe
from tests.mock_kafka.exploration.findings import DRAWN, finding


def test_a_finding_is_described() -> None:
    assert (
        describe(finding())
        == """\
exit status 1
with these fault rules, drawn from seed 12 in run 3:
[
    {"api": "Produce", "times": 1, "drop": "before_response"},
]
repeated: failed 5 of 5; the same requests in 5 of 5
shrunk in 9 runs from 2 rules, which failed 4 of 5; the same requests in 4 of 5 \
(first difference: 2 Fetch of a, then 3)"""
    )


def test_a_finding_that_was_not_shrunk_and_one_without_rules() -> None:
    assert "shrunk" not in describe(replace(finding(), rules=DRAWN))
    assert "without any: it fails sometimes" in describe(replace(finding(), rules=[]))
