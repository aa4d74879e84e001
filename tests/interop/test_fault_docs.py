"""The Python examples of docs/faults.md pass."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer

from mock_kafka import MockKafka

TEXT = (Path(__file__).parents[2] / "docs" / "faults.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockKafka]:
    with MockKafka(brokers=3) as started:
        yield started


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split("(")[0][4:])
def test_an_example_passes(example: str, cluster: MockKafka) -> None:
    cluster.reset()
    defined: dict[str, Any] = {"KafkaProducer": KafkaProducer}
    exec(compile(example, "docs/faults.md", "exec"), defined)
    (function,) = (found for name, found in defined.items() if name.startswith("test_"))
    test: Callable[[MockKafka], None] = function
    test(cluster)
    # The audit finds what a rule has changed, and nothing else; the next reset forgets it.
    expected = {"changed_by_rule"} if "change_records(" in example else set()
    assert {finding.kind for finding in cluster.audit().findings} == expected
    cluster.reset()


def test_there_is_an_example_of_each_method() -> None:
    for method in ("sequence", "wait", "hold", "release"):
        assert any(f".{method}(" in example for example in EXAMPLES), method
