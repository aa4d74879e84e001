from dataclasses import asdict

from simulation.network_conditions import NetworkConditions


def test_clear_conditions_end_what_an_open_network_does_to_data() -> None:
    conditions = NetworkConditions(
        slow_chance=0.1,
        cut_chance=0.1,
        refuse_chance=0.1,
        half_open_chance=0.5,
        black_hole_chance=0.1,
        reset_chance=0.2,
    )
    conditions.clear()
    chances = {name: value for name, value in asdict(conditions).items() if "chance" in name}
    # A client that closes loses its last data as before.
    assert {name for name, value in chances.items() if value} == {"reset_chance"}
