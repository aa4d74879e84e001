"""The cores are packages to import: what they say of themselves is true, and importing is all."""

import doctest
import importlib
import subprocess
import sys

import pytest

CORES = ("producer_state", "quotas")


@pytest.mark.parametrize("name", CORES)
def test_the_example_of_a_package_runs_as_it_stands(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 5
    assert outcome.failed == 0


@pytest.mark.parametrize("name", CORES)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    package = importlib.import_module(name)
    for public in package.__all__:
        member = getattr(package, public)
        if isinstance(member, type) or callable(member):
            assert member.__doc__, public


@pytest.mark.parametrize("name", CORES)
def test_importing_a_core_brings_neither_the_broker_nor_kafkas_messages_nor_io(name: str) -> None:
    program = f"import sys, {name}; print(*sorted({{m.partition('.')[0] for m in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stderr == ""
    assert not set(done.stdout.split()) & {"asyncio", "broker", "kafka", "socket", "structlog"}
