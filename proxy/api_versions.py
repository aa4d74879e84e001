"""ApiVersions through the proxy: APIs with addresses only in versions whose addresses are known.

All other APIs and versions are the cluster's, also those that the proxy does not know.
"""

from functools import cache

from broker.routes import ROUTES, unsupported_version_response
from protocol.api_keys import ApiKey
from protocol.codec import decode_response, encode_response
from protocol.messages import schema_versions
from proxy.rewritten_response import ADDRESS_APIS

_CHANGED_APIS = (*ADDRESS_APIS, ApiKey.API_VERSIONS)


def limited(frame: bytes, correlation_id: int, api_version: int) -> bytes:
    """Return the response to ApiVersions without the versions that the proxy cannot rewrite.

    A client that speaks a newer version of ApiVersions gets UNSUPPORTED_VERSION, and asks again.

    Raises:
        DecodeError: it is no such response.
    """
    if api_version > schema_versions(ApiKey.API_VERSIONS)[1]:
        return unsupported_version_response(correlation_id, ROUTES[ApiKey.API_VERSIONS])
    response = decode_response(frame, ApiKey.API_VERSIONS, api_version)
    limits = _highest_versions()
    kept = []
    is_changed = False
    for offered in response.api_keys or ():
        highest = limits.get(offered.api_key, offered.max_version)
        is_changed = is_changed or offered.max_version > highest
        offered.max_version = min(offered.max_version, highest)
        if offered.min_version <= highest:
            kept.append(offered)
    if not is_changed:
        return frame
    response.api_keys = kept
    return encode_response(correlation_id, ApiKey.API_VERSIONS, response.version, response)


@cache
def _highest_versions() -> dict[int, int]:
    return {key: schema_versions(key)[1] for key in _CHANGED_APIS}
