"""mock-kafka's admin port, for quotas in shadow mode and their report.

Other brokers have no shadow mode; a load runs without this port.
"""

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

from loadgen.command_error import CommandError

TIMEOUT_S = 10.0


class AdminPortError(CommandError):
    """The port does not respond or refuses a request; the message is one line."""


class AdminPort:
    """The admin port at a URL."""

    def __init__(self, url: str, token: str | None = None) -> None:
        """Use the port at `url`; `token` is the value of `broker.admin.token` if that is set.

        Raises:
            AdminPortError: the URL is invalid.
        """
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.netloc:
            raise AdminPortError(f"{url!r} is not http://HOST:PORT, the URL of an admin port")
        self._url = url
        self._address = parts.netloc
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def set_shadow_quota(
        self, entity: Mapping[str, str | None], quota_key: str, value: float
    ) -> None:
        """Set a quota in shadow mode; None as a name stands for the default entity.

        Raises:
            AdminPortError: the port refuses or does not respond.
        """
        values = {quota_key: value}
        body = {"entity": dict(entity), "values": values, "shadow": True}
        self._request("PUT", "/v1/quotas", body)

    def clear_shadow_report(self) -> None:
        """Clear the shadow report.

        Raises:
            AdminPortError: the port does not respond.
        """
        self._request("DELETE", "/v1/quotas/shadow")

    def shadow_report(self) -> list[dict[str, Any]]:
        """Return what quotas in shadow mode would have done; docs/admin.md has the fields.

        Raises:
            AdminPortError: the port does not respond.
        """
        found: list[dict[str, Any]] = self._request("GET", "/v1/quotas/shadow")
        return found

    def _request(self, method: str, path: str, body: object = None) -> Any:
        connection = HTTPConnection(self._address, timeout=TIMEOUT_S)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, self._headers)
            response = connection.getresponse()
            text = response.read()
            result = json.loads(text) if text else None
        except (OSError, HTTPException, ValueError) as error:
            raise AdminPortError(f"no admin port at {self._url}: {error!r}") from error
        finally:
            connection.close()
        if response.status >= 400:
            detail = result["detail"] if isinstance(result, dict) else response.reason
            raise AdminPortError(f"admin port {self._url}: {detail}")
        return result
