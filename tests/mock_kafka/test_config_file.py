"""The file that carries a cluster's configuration to its process."""

import stat

from hypothesis import given
from hypothesis import strategies as st

from mock_kafka.config_file import config_file
from protocol.properties import parse_properties

TEXTS = st.text(st.characters(codec="utf-8"))


@given(st.dictionaries(TEXTS.filter(bool), TEXTS))
def test_the_file_has_every_key_and_value_as_it_was(config: dict[str, str]) -> None:
    with config_file(config) as path:
        assert parse_properties(path.read_text(encoding="utf-8")) == config


def test_only_its_owner_can_read_the_file_and_it_is_deleted() -> None:
    with config_file({"sasl.users": "alice:secret"}) as path:
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.parent.exists()
