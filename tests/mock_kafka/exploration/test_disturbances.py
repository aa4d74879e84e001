"""The table of disturbances has Kafka's names."""

import pytest

from mock_kafka.exploration.disturbances import PROFILES, OneOf
from protocol.errors import ErrorCode
from protocol.messages import API_NAMES


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_apis_and_errors_are_kafka_s(profile: str) -> None:
    apis = set(API_NAMES.values())
    for kind in PROFILES[profile]:
        assert set(kind.apis) <= apis
        assert kind.weight >= 1
        assert kind.times_max >= 1
        errors = kind.fields.get("error")
        names = errors.values if isinstance(errors, OneOf) else (errors,)
        assert set(names) - {None} <= set(ErrorCode.__members__)
