"""mock-kafka's admin port: quotas in shadow mode and their report, and faults.

Other brokers have neither; a load runs without this port.
"""

import json
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import quote, urlsplit

from loadgen.command_error import CommandError

TIMEOUT_S = 10.0


class AdminPortError(CommandError):
    """The port does not respond or refuses a request; the message is one line."""


class NotFoundError(AdminPortError):
    """The port does not know the path, or what it names."""


class ProxyError(AdminPortError):
    """The port is that of a proxy, and the request is about what the cluster behind it has."""


class AdminPort:
    """The admin port of mock-kafka at a URL: that of its brokers or of its proxy."""

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

    def add_rules(self, rules: Sequence[Mapping[str, Any]]) -> list[int]:
        """Add fault rules, all or none; return their ids. docs/faults.md has the fields.

        Raises:
            AdminPortError: a rule is invalid, or the port does not respond.
        """
        added = self._request("POST", "/v1/faults", list(rules))
        return [int(view["id"]) for view in added]

    def fired_counts(self) -> dict[int, int]:
        """Return how often each rule has fired, by its id.

        Raises:
            AdminPortError: the port does not respond.
        """
        views = self._request("GET", "/v1/faults")
        return {int(view["id"]): int(view["fired"]) for view in views}

    def remove_rule(self, rule_id: int) -> None:
        """Remove a fault rule.

        Raises:
            AdminPortError: there is none with this id, or the port does not respond.
        """
        self._request("DELETE", f"/v1/faults/{rule_id}")

    def is_proxy(self) -> bool:
        """Return whether the port is that of a proxy, which cannot move leaders.

        Raises:
            AdminPortError: the port does not respond.
        """
        try:
            self._request("GET", "/v1/controller")
        except ProxyError:
            return True
        return False

    def node_ids(self) -> list[int]:
        """Return the ids of the brokers.

        Raises:
            AdminPortError: the port has no brokers, or does not respond.
        """
        # -1 is the bootstrap port of a proxy.
        found = [int(view["node_id"]) for view in self._request("GET", "/v1/brokers")]
        return [node_id for node_id in found if node_id >= 0]

    def stop_broker(self, node_id: int, *, elect: bool) -> None:
        """Stop a broker, or the port of a proxy for it; `elect` moves its leaders.

        Raises:
            AdminPortError: there is no such broker, or the port does not respond.
        """
        self._request("POST", f"/v1/brokers/{node_id}/stop", {"elect": elect})

    def isolate_broker(self, node_id: int, *, elect: bool) -> None:
        """Isolate a broker: its connections stay open, and nothing passes through them.

        Raises:
            AdminPortError: there is no such broker, or the port does not respond.
        """
        self._request("POST", f"/v1/brokers/{node_id}/isolate", {"elect": elect})

    def start_broker(self, node_id: int) -> None:
        """Start a broker that was stopped or isolated.

        Raises:
            AdminPortError: there is no such broker, or the port does not respond.
        """
        self._request("POST", f"/v1/brokers/{node_id}/start", {})

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the leader of a partition; None if it has none.

        Raises:
            AdminPortError: there is no such partition, or the port does not respond.
        """
        view = self._request("GET", f"/v1/topics/{quote(topic, safe='')}")
        leader: int | None = next(
            row["leader"] for row in view["partitions"] if row["partition"] == partition
        )
        return leader

    def move_leader(self, topic: str, partition: int, node_id: int | None) -> None:
        """Make a broker the leader of a partition; None leaves it without one.

        Raises:
            AdminPortError: there is no such partition or broker, or the port does not respond.
        """
        path = f"/v1/topics/{quote(topic, safe='')}/partitions/{partition}/leader"
        self._request("PUT", path, {"broker": node_id})

    def clock_ms(self) -> int | None:
        """Return the time of the broker in ms since 1970; None if the port has no clock.

        Raises:
            AdminPortError: the port does not respond.
        """
        try:
            return int(self._request("GET", "/v1/clock")["now_ms"])
        except NotFoundError:
            return None

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
            if response.status == 501:
                raise ProxyError(f"admin port {self._url}: {detail}")
            if response.status == 404:
                raise NotFoundError(f"admin port {self._url}: {detail}")
            raise AdminPortError(f"admin port {self._url}: {detail}")
        return result
