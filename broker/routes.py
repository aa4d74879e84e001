"""The registry of API handlers, which ApiVersions reads too.

A handler module says `@handles(ApiKey.METADATA, versions=(0, 13))` and nothing else refers to it.
So the broker advertises exactly the APIs that it handles, in the versions of the release that it
emulates.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from broker.config.api_versions import named_apis, parse_api_versions
from broker.config.broker_config import BrokerConfig
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_response
from protocol.errors import ErrorCode
from protocol.messages import is_flexible
from protocol.releases import UNADVERTISED_APIS

VERSION_RANGE_MIN = 3
"""Brokers with this version of ApiVersions put their range into UNSUPPORTED_VERSION (KIP-511)."""

Handler = Callable[..., Any]
"""`handler(context, request, cluster)` returns a message, a `PendingResponse`, or None.

A raw handler takes `(context, frame, body_start, body_end, cluster)` instead, `frame` being a
bytes-like buffer, and returns an encoded response body, a `PendingResponse`, None or a `Close`.
"""


Shortcut = Callable[..., bytes | None]
"""`shortcut(context, frame, body_start, body_end, cluster)` returns an encoded response body.

It returns None for a request that the handler has to take.
"""

ShortReader = Callable[[int, bytes | bytearray, int, int], Any]
"""`read_short(api_version, frame, body_start, body_end)` returns a request, read by hand.

It has the schema's attributes, as far as the handler reads them. The result is None for a request
with many elements or rare fields, and for one that is malformed: the schema's codec takes it then.
"""


@dataclass(frozen=True, slots=True)
class Route:
    """One API: its handler, the versions it serves and those that ApiVersions advertises."""

    api_key: ApiKey
    handler: Handler
    version_min: int
    version_max: int
    advertised_min: int
    is_raw: bool
    flexible_min: int
    """First version whose header and body have tagged fields; above `version_max` if none has."""
    is_advertised: bool
    shortcut: Shortcut | None = None
    """Responds to the most frequent requests without decoding them by the schema."""
    read_short: ShortReader | None = None
    """Reads requests that cannot take long, so that they take no turns."""


ROUTES: dict[int, Route] = {}


def handles(
    api_key: ApiKey,
    versions: tuple[int, int],
    *,
    advertised_min: int | None = None,
    is_raw: bool = False,
    shortcut: Shortcut | None = None,
    read_short: ShortReader | None = None,
) -> Callable[[Handler], Handler]:
    """Register the decorated function for an API; versions are inclusive on both sides."""
    version_min, version_max = versions

    def register(handler: Handler) -> Handler:
        assert api_key not in ROUTES, f"{api_key.name} has two handlers"
        ROUTES[api_key] = Route(
            api_key=api_key,
            handler=handler,
            version_min=version_min,
            version_max=version_max,
            advertised_min=version_min if advertised_min is None else advertised_min,
            is_raw=is_raw,
            flexible_min=next(
                (v for v in range(version_max + 1) if is_flexible(api_key, v)), version_max + 1
            ),
            is_advertised=api_key not in UNADVERTISED_APIS,
            shortcut=shortcut,
            read_short=read_short,
        )
        return handler

    return register


class RoutesByBroker(dict[int, Mapping[int, Route]]):
    """The APIs and versions that each broker serves, by node id and API key."""

    def __init__(self, config: BrokerConfig) -> None:
        super().__init__()
        self._config = config

    def __missing__(self, node_id: int) -> Mapping[int, Route]:
        """Compute a broker's routes when they are first needed."""
        limits = self._config.for_broker(node_id)["broker.api.versions"]
        routes = self[node_id] = limited_routes(limits)
        return routes


def limited_routes(limits_config: tuple[str, ...]) -> Mapping[int, Route]:
    """Return the routes that `broker.api.versions` allows.

    An API without an allowed version is not served. An API that a broker serves without advertising
    it is advertised if the value names it.
    """
    limits = parse_api_versions(limits_config)
    named = named_apis(limits_config)
    routes = {}
    for api_key, route in ROUTES.items():
        low, high = limits.get(api_key, (0, -1))
        version_max = min(route.version_max, high)
        if max(route.version_min, low) <= version_max:
            routes[api_key] = replace(
                route,
                version_min=max(route.version_min, low),
                version_max=version_max,
                advertised_min=max(route.advertised_min, low),
                is_advertised=route.is_advertised or api_key in named,
            )
    return routes


def unsupported_version_response(correlation_id: int, route: Route) -> bytes:
    """Return the response to an unknown version of ApiVersions, with the known range."""
    version_range = messages.ApiVersionsResponse.ApiVersion(
        api_key=ApiKey.API_VERSIONS, min_version=route.version_min, max_version=route.version_max
    )
    response = messages.ApiVersionsResponse(
        version=0,
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[version_range] if route.version_max >= VERSION_RANGE_MIN else [],
    )
    return encode_response(correlation_id, ApiKey.API_VERSIONS, 0, response)
