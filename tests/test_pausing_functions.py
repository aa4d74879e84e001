"""Check that the functions that may pause say so, and that `no_pause()` holds."""

import ast
import gc
from collections.abc import Iterator
from functools import cache

import pytest

from tests.pausing_functions import CALLS_GENERATED, GENERATED, Pausing, read_sources

# One process makes the analysis for all these tests.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("pausing_functions")]

INSERTED = """
from protocol.pacing import paced as _inserted_paced

def _inserted(names: list[str]) -> None:
    for _name in _inserted_paced(names):
        pass
"""


@pytest.fixture(autouse=True)
def _without_garbage_collector() -> Iterator[None]:
    """Syntax trees are many objects, of which none is garbage: to look through them takes long."""
    gc.disable()
    yield
    gc.enable()


@cache
def _pausing() -> Pausing:
    return Pausing(read_sources())


def test_each_function_that_may_pause_says_so() -> None:
    pausing = _pausing()
    assert [pausing.reason(name) for name in sorted(pausing.unmarked())] == []


def test_a_function_that_cannot_pause_does_not_say_that_it_may() -> None:
    pausing = _pausing()
    assert sorted(pausing.marked() - set(pausing.functions_that_pause)) == []


def test_the_functions_that_call_generated_code_exist() -> None:
    assert {*GENERATED, CALLS_GENERATED} <= set(_pausing().functions)


def test_nothing_pauses_within_no_pause() -> None:
    pausing = _pausing()
    guarded = pausing.guarded()
    assert len(guarded) >= 6
    found = {
        name: [pausing.reason(called) for called in sorted(pausing.pauses_within(name, node))]
        for name, node in guarded
    }
    assert {name: reasons for name, reasons in found.items() if reasons} == {}


def test_an_inserted_pause_is_found() -> None:
    """In a function, a method, a property, a callback, and below `no_pause()`."""
    sources = read_sources()
    _insert_first(sources, "broker.cluster.partition_log", "PartitionLog", "wait")
    _insert_first(sources, "broker.cluster.share_log", "ShareLog", "append")
    _insert_first(sources, "producer_state.producer_state_manager", "ProducerStateManager", "apply")
    pausing = Pausing(sources)
    unmarked = pausing.unmarked()
    assert "broker.cluster.partition_log.PartitionLog.wait" in unmarked
    # Through an attribute of a class of our own.
    assert "broker.fetch.waiting_fetch.WaitingPartition.join" in unmarked
    # Through an attribute whose class is a protocol.
    assert "broker.share_groups.share_state.ShareStates.write" in unmarked
    assert "broker.produce.append._write_producer" in unmarked
    handler = "broker.handlers.k91_alter_share_group_offsets._alter"
    within = [
        called
        for name, node in pausing.guarded()
        if name == handler
        for called in pausing.pauses_within(name, node)
    ]
    assert within == ["broker.administration.share_offsets.alter_offsets"]


def _insert_first(sources: dict[str, str], module: str, class_name: str, method_name: str) -> None:
    """Insert a pause at the beginning of a method."""
    (method,) = (
        method
        for node in ast.walk(ast.parse(sources[module]))
        if isinstance(node, ast.ClassDef) and node.name == class_name
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name == method_name
    )
    first = method.body[1] if ast.get_docstring(method) else method.body[0]
    lines = sources[module].splitlines()
    lines.insert(first.lineno - 1, " " * first.col_offset + "_inserted([])")
    sources[module] = "\n".join(lines) + INSERTED
