"""Each command of `mock-kafka` has a module that runs it."""

import pytest

from mock_kafka.commands import COMMANDS, imported, place_of


@pytest.mark.parametrize("module", sorted({module for module, _ in COMMANDS.values()}))
def test_the_module_of_a_command_has_its_main(module: str) -> None:
    assert callable(imported(module).main)


def test_a_module_is_where_its_package_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert place_of("atlas.cli") == "atlas.cli"
    monkeypatch.setattr("broker.__name__", "mock_kafka._internal.broker")
    assert place_of("atlas.cli") == "mock_kafka._internal.atlas.cli"
    assert place_of(".load") == ".load"
