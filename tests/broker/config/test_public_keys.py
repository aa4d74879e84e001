import pytest

from broker.config.public_keys import may_show_config


@pytest.mark.parametrize(
    ("name", "is_shown"),
    [
        ("sasl.users", False),
        ("broker.admin.token", False),
        ("unknown", False),
        ("retention.ms", True),
        ("num.partitions", True),
    ],
)
def test_only_configuration_values_known_to_be_public_are_shown(name: str, is_shown: bool) -> None:
    assert may_show_config(name) is is_shown
