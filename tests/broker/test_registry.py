"""The register of handlers."""

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.registry import ROUTES, handles
from protocol.api_keys import ApiKey
from protocol.messages import is_flexible


def test_an_api_has_one_handler() -> None:
    with pytest.raises(AssertionError, match="METADATA has two handlers"):
        handles(ApiKey.METADATA, versions=(0, 1))(lambda: None)


@pytest.mark.parametrize("api_key", sorted(ROUTES))
def test_the_first_flexible_version_is_the_schemas(api_key: int) -> None:
    route = ROUTES[api_key]
    for version in range(route.version_min, route.version_max + 1):
        assert (version >= route.flexible_min) == is_flexible(route.api_key, version)
