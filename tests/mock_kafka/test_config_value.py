"""Values of a configuration as text."""

import pytest

from mock_kafka.config_value import ConfigValue, config_text


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (False, "false"), (3, "3"), (0.5, "0.5"), ("a", "a")]
)
def test_a_value_is_written_as_in_a_properties_file(value: ConfigValue, text: str) -> None:
    assert config_text(value) == text
