import pytest

from scenarios import registry


@pytest.mark.parametrize("name", registry.SCENARIOS)
def test_every_scenario_can_be_run(name: str) -> None:
    assert callable(registry.load(name).run)


def test_an_unknown_scenario_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        registry.run("nothing", None)
