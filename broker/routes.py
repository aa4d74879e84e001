"""The registry of API handlers, which ApiVersions reads too.

`broker/handlers/__init__.py` declares an API with its versions, and the module of the handler says
`@handles(ApiKey.METADATA)`. So the broker advertises exactly the APIs that it handles, in the
versions of the release that it emulates.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from broker.authorization.checks import Check
from broker.config.api_versions import named_apis, parse_api_versions, version_limits
from broker.config.broker_config import BrokerConfig
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_response
from protocol.errors import ErrorCode
from protocol.messages import is_flexible, schema_versions
from protocol.releases import UNADVERTISED_APIS

VERSION_RANGE_MIN = 3
"""Brokers with this version of ApiVersions put their range into UNSUPPORTED_VERSION (KIP-511)."""

Handler = Callable[..., Any]
"""`handler(context, request, cluster)` returns a message, a `PendingResponse`, or None.

A raw handler takes `(context, frame, body_start, body_end, cluster)` instead, `frame` being a
bytes-like buffer, and returns an encoded response body, a `PendingResponse`, None or a `Close`.
"""


Shortcut = Callable[..., object]
"""`shortcut(context, frame, body_start, body_end, cluster)` returns an encoded response body.

It may return a `PendingResponse` instead, None for a request that the handler has to take, or
`TAKES_TURNS`.
"""

TAKES_TURNS = object()
"""What a shortcut returns for a request that may take long, whatever its size.

A handler returns it for such a request that was read by hand, and gets that of the schema.
"""

ShortReader = Callable[[int, bytes | bytearray, int, int], Any]
"""`read_short(api_version, frame, body_start, body_end)` returns a request, read by hand.

It has the schema's attributes, as far as the handler reads them. The result is None for a request
with many elements or rare fields, and for one that is malformed: the schema's codec takes it then.
"""


@dataclass(frozen=True, slots=True)
class Route:
    """One API: its handler, the versions it serves and those that ApiVersions advertises.

    The module of the handler is imported when one of the last eight fields is first read. A broker
    accepts connections before it has imported the handlers.
    """

    api_key: ApiKey
    module: str
    version_min: int
    version_max: int
    advertised_min: int
    is_advertised: bool
    handler: Handler
    is_raw: bool
    shortcut: Shortcut | None
    """Responds to the most frequent requests without decoding them by the schema."""
    read_short: ShortReader | None
    """Reads requests that cannot take long, so that they take no turns."""
    read_long: ShortReader | None
    """Reads others by hand, too, in loops that pause."""
    checks: tuple[Check, ...]
    """What its requests are authorized for."""
    flexible_min: int
    """First version whose header and body have tagged fields; above `version_max` if none has."""
    tagged_header_min: int
    """The same of the headers of responses; those of ApiVersions never have them (KIP-511)."""

    def load(self) -> None:
        """Import the module of the handler."""
        for name, value in zip(_LATE_FIELDS, _late_values(self.api_key, self.module), strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "__class__", Route)

    def with_limits(self, low: int, high: int, *, is_advertised: bool) -> "Route":
        """Return this route with no versions outside of a range, without importing the handler."""
        fields = {name: getattr(self, name) for name in Route.__slots__ if _is_set(self, name)}
        fields["version_min"] = max(self.version_min, low)
        fields["version_max"] = min(self.version_max, high)
        fields["advertised_min"] = max(self.advertised_min, low)
        fields["is_advertised"] = is_advertised
        return _new_route(fields)


class _LateRoute(Route):
    """A route whose handler is not imported yet. Attributes of a class without it are faster."""

    __slots__ = ()

    if not TYPE_CHECKING:  # else it would allow any name

        def __getattr__(self, name: str) -> Any:
            """Import the handler; only called for a field that is not set."""
            if name not in _LATE_FIELDS:
                raise AttributeError(name)
            self.load()
            return getattr(self, name)


_LATE_FIELDS = (
    "handler",
    "is_raw",
    "shortcut",
    "read_short",
    "read_long",
    "checks",
    "flexible_min",
    "tagged_header_min",
)


def _new_route(fields: Mapping[str, Any]) -> Route:
    """Return a route with these fields; the late ones may be left out."""
    route = object.__new__(Route if _LATE_FIELDS[0] in fields else _LateRoute)
    for name, value in fields.items():
        object.__setattr__(route, name, value)
    return route


def _is_set(route: Route, name: str) -> bool:
    try:
        object.__getattribute__(route, name)
    except AttributeError:
        return False
    return True


@cache
def _late_values(api_key: ApiKey, module: str) -> tuple[object, ...]:
    """Import a handler, and return what `_LATE_FIELDS` names."""
    import_module(module)
    highest = schema_versions(api_key)[1] + 1
    flexible_min = next((v for v in range(highest) if is_flexible(api_key, v)), highest)
    tagged_header_min = highest if api_key is ApiKey.API_VERSIONS else flexible_min
    return (*_REGISTRATIONS[api_key], flexible_min, tagged_header_min)


class _Registration(NamedTuple):
    """What the module of a handler says about it."""

    handler: Handler
    is_raw: bool
    shortcut: Shortcut | None
    read_short: ShortReader | None
    read_long: ShortReader | None
    checks: tuple[Check, ...]


_REGISTRATIONS: dict[ApiKey, _Registration] = {}
ROUTES: dict[int, Route] = {}


def declare(
    api_key: ApiKey, module: str, versions: tuple[int, int], advertised_min: int | None = None
) -> None:
    """Add an API whose handler is in a module; versions are inclusive on both sides."""
    version_min, version_max = versions
    ROUTES[api_key] = _new_route(
        {
            "api_key": api_key,
            "module": module,
            "version_min": version_min,
            "version_max": version_max,
            "advertised_min": version_min if advertised_min is None else advertised_min,
            "is_advertised": api_key not in UNADVERTISED_APIS,
        }
    )


def handles(
    api_key: ApiKey,
    *,
    is_raw: bool = False,
    shortcut: Shortcut | None = None,
    read_short: ShortReader | None = None,
    read_long: ShortReader | None = None,
    checks: tuple[Check, ...] = (),
) -> Callable[[Handler], Handler]:
    """Register the decorated function for an API; `checks` are what a request is authorized for."""

    def register(handler: Handler) -> Handler:
        assert api_key not in _REGISTRATIONS, f"{api_key.name} has two handlers"
        _REGISTRATIONS[api_key] = _Registration(
            handler, is_raw, shortcut, read_short, read_long, checks
        )
        return handler

    return register


class RoutesByBroker(dict[int, Mapping[int, Route]]):
    """The APIs and versions that each broker serves, by node id and API key."""

    def __init__(self, config: BrokerConfig) -> None:
        super().__init__()
        self._config = config
        self.api_versions_bodies: dict[tuple[int, int, int], bytes] = {}
        """Encoded responses to ApiVersions by node id, version, and epoch of the features."""

    def __missing__(self, node_id: int) -> Mapping[int, Route]:
        """Compute a broker's routes when they are first needed."""
        limits = version_limits(self._config.for_broker(node_id))
        routes = self[node_id] = limited_routes(limits)
        return routes


def limited_routes(limits_config: tuple[str, ...]) -> Mapping[int, Route]:
    """Return the routes that `version_limits` allow.

    An API without an allowed version is not served. An API that a broker serves without advertising
    it is advertised if the value names it.
    """
    limits = parse_api_versions(limits_config)
    named = named_apis(limits_config)
    routes = {}
    for api_key, route in ROUTES.items():
        low, high = limits.get(api_key, (0, -1))
        if max(route.version_min, low) <= min(route.version_max, high):
            is_advertised = route.is_advertised or api_key in named
            routes[api_key] = route.with_limits(low, high, is_advertised=is_advertised)
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
