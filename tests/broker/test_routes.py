"""The registry of handlers."""

import subprocess
import sys
from pkgutil import iter_modules

import pytest

from broker import handlers
from broker.config.broker_config import BrokerConfig
from broker.routes import ROUTES, RoutesByBroker, handles, limited_routes
from protocol.api_keys import ApiKey
from protocol.messages import is_flexible
from protocol.releases import releases


def test_an_api_has_one_handler() -> None:
    ROUTES[ApiKey.METADATA].load()
    with pytest.raises(AssertionError, match="METADATA has two handlers"):
        handles(ApiKey.METADATA)(lambda: None)


def test_every_module_of_a_handler_is_declared() -> None:
    modules = {f"{handlers.__name__}.{module.name}" for module in iter_modules(handlers.__path__)}
    assert {route.module for route in ROUTES.values()} == modules


def test_a_handler_is_imported_when_the_route_is_first_used() -> None:
    program = """
import sys
from broker import handlers
from broker.routes import ROUTES, limited_routes
of_release = limited_routes(("2.8",))
handler_modules = {name for name in sys.modules if name.startswith("broker.handlers.")}
assert not handler_modules, handler_modules
assert of_release[12].handler.__name__ == "handle_heartbeat"
assert "broker.handlers.k12_heartbeat" in sys.modules
assert (of_release[12].flexible_min, of_release[12].version_max) == (4, 4)
assert ROUTES[0].is_raw
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("api_key", sorted(ROUTES))
def test_the_first_flexible_version_is_that_of_the_schema(api_key: int) -> None:
    route = ROUTES[api_key]
    for version in range(route.version_min, route.version_max + 1):
        assert (version >= route.flexible_min) == is_flexible(route.api_key, version)


def test_without_limits_the_default_release_is_served() -> None:
    assert limited_routes(()) == limited_routes(("4.4.0",))


def test_versions_beyond_the_release_are_served_when_they_are_named() -> None:
    assert limited_routes(("4.1",))[ApiKey.LIST_OFFSETS].version_max == 10
    assert limited_routes(("4.1", "ListOffsets=11"))[ApiKey.LIST_OFFSETS].version_max == 11
    assert limited_routes(("4.3",))[ApiKey.LIST_OFFSETS].version_max == 11


def test_an_unadvertised_api_is_advertised_when_it_is_named() -> None:
    api_key = ApiKey.PUSH_TELEMETRY
    assert not limited_routes(())[api_key].is_advertised
    assert limited_routes(("PushTelemetry=0",))[api_key].is_advertised
    assert api_key not in limited_routes(("3.6",))


@pytest.mark.parametrize("release", releases())
def test_a_release_limits_versions_to_those_that_both_serve(release: tuple[int, ...]) -> None:
    routes = limited_routes((".".join(map(str, release)),))
    for api_key, route in ROUTES.items():
        low, high = releases()[release].get(api_key, (0, -1))
        both = set(range(low, high + 1)) & set(range(route.version_min, route.version_max + 1))
        if api_key in routes:
            limited = routes[api_key]
            assert set(range(limited.version_min, limited.version_max + 1)) == both
            assert limited.handler is route.handler
            assert limited.advertised_min == max(low, route.advertised_min)
        else:
            assert not both
    assert {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA, ApiKey.INIT_PRODUCER_ID} <= set(routes)


def test_each_broker_has_the_routes_of_its_configuration() -> None:
    config = BrokerConfig.from_overrides(
        {"broker.api.versions": "3.9", "broker.2.broker.api.versions": "Produce=7"}
    )
    routes = RoutesByBroker(config)

    assert routes[1][ApiKey.PRODUCE].version_max == 11
    assert routes[2][ApiKey.PRODUCE].version_max == 7
    assert routes[2][ApiKey.FETCH].version_max == 18
    assert routes[1] is routes[1]
