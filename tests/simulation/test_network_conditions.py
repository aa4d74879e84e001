from dataclasses import asdict

from simulation.network_conditions import NetworkConditions


def test_clear_conditions_disturb_nothing() -> None:
    conditions = NetworkConditions(cut_chance=0.1, half_open_chance=0.5, reset_chance=0.2)
    conditions.clear()
    chances = {name: value for name, value in asdict(conditions).items() if "chance" in name}
    assert set(chances.values()) == {0}
