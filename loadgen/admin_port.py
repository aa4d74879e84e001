"""mock-kafka's admin port, where quotas in shadow mode are set and say what they would have done.

Other brokers have no such mode, and a load runs without this port.
"""

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_S = 10.0


class AdminPortError(Exception):
    """The port does not answer, or refuses; one line."""


class AdminPort:
    """The admin port at a URL."""

    def __init__(self, url: str, token: str | None = None) -> None:
        """`token` is the value of `broker.admin.token`, where it is set.

        Raises:
            AdminPortError: it is no address of such a port.
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
        """Set a quota in shadow mode; a name that is None is the default of its type.

        Raises:
            AdminPortError: it was refused, or nobody answers.
        """
        values = {quota_key: value}
        body = {"entity": dict(entity), "values": values, "shadow": True}
        self._ask("PUT", "/v1/quotas", body)

    def clear_shadow_report(self) -> None:
        """Have the report begin with what comes from now on.

        Raises:
            AdminPortError: nobody answers.
        """
        self._ask("DELETE", "/v1/quotas/shadow")

    def shadow_report(self) -> list[dict[str, Any]]:
        """What quotas in shadow mode would have done, as docs/admin.md has it.

        Raises:
            AdminPortError: nobody answers.
        """
        found: list[dict[str, Any]] = self._ask("GET", "/v1/quotas/shadow")
        return found

    def _ask(self, method: str, path: str, body: object = None) -> Any:
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
