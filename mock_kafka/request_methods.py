"""The methods of a running cluster or proxy for past requests."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from mock_kafka.arguments import RequestFilter
from mock_kafka.control import WAIT_MARGIN_S, Control

if TYPE_CHECKING:  # `BrokerProcess` imports it while the broker starts
    from mock_kafka.views import Request

__tracebackhide__ = True  # pytest shows the line of the caller

_REQUESTS_MAX = 10_000


class RequestMethods(ABC):
    """List past requests, and wait for requests."""

    @property
    @abstractmethod
    def control(self) -> Control:
        """The admin port of the running cluster."""

    def requests(
        self,
        *,
        api: str | None = None,
        limit: int = _REQUESTS_MAX,
        has_messages: bool = True,
        fields: Iterable[str] | None = None,
        **filters: Unpack[RequestFilter],
    ) -> "list[Request]":
        """Return the last requests that match, oldest first, with their outcome.

        `has_messages=False` omits the decoded messages, which is faster. For thousands of requests
        name the attributes that you read, such as `fields=("client_id", "received_ms")`: the
        cluster decodes no message unless one of them needs it. To read another attribute is an
        AttributeError.
        """
        query = {"api": api, "kind": "request", **filters, "limit": limit, "bodies": has_messages}
        if fields is not None:
            query["fields"] = ",".join(fields)
        from mock_kafka.views import request_of, selected_request_of  # noqa: PLC0415

        view = request_of if fields is None else selected_request_of
        found = list(map(view, self.control.ask("GET", "/v1/requests", query=query)))
        if not found and query["kind"] == "request" and (api is not None or filters):
            self.control.unanswered.append({**({"api": api} if api else {}), **filters})
        return found

    def request(self, number: int, *, secrets: bool = False) -> "Request":
        """Return one request by its number, with the bytes of both frames in hex.

        Frames of APIs that may have passwords or tokens are None, unless `secrets` is True.

        Raises:
            ControlError: the journal does not have it.
        """
        path = f"/v1/requests/{number}"
        from mock_kafka.views import request_of  # noqa: PLC0415 - see `BrokerProcess`

        return request_of(self.control.ask("GET", path, query={"secrets": secrets}))

    def save_pcap(
        self,
        path: str | PathLike[str],
        *,
        api: str | None = None,
        secrets: bool = False,
        **filters: Unpack[RequestFilter],
    ) -> None:
        """Write the requests that match and their responses to a file for Wireshark.

        Requests of APIs that may have passwords or tokens are left out, unless `secrets` is True.
        """
        query = {"api": api, **filters, "secrets": secrets}
        Path(path).write_bytes(self.control.ask("GET", "/v1/requests/pcap", query=query))

    def wait_for(
        self, *, api: str | None = None, timeout_s: float = 10.0, **filters: Unpack[RequestFilter]
    ) -> "Request":
        """Return the first request that matches, or wait for it.

        It may have no response yet; `outcome="responded"` waits for the response. To wait for a new
        request use `since=last_request_number()`.

        Raises:
            TimeoutError: there was none for `timeout_s` of real time; the message has the requests
                that came nearest, and the fields in which they differ.
        """
        timeout_ms = round(timeout_s * 1000)
        query = {"kind": "request", "api": api, **filters, "timeout_ms": timeout_ms}
        response = self.control.ask(
            "GET", "/v1/requests/wait", query=query, timeout_s=timeout_s + WAIT_MARGIN_S
        )
        from mock_kafka.views import request_of  # noqa: PLC0415 - see `BrokerProcess`

        return request_of(response)

    def near_misses(self, *, api: str | None = None, **filters: Unpack[RequestFilter]) -> list[str]:
        """Return the requests that come nearest to a filter, and how they differ, one line each.

        They fit the most of its fields, but not all. There are at most five lines, of the last 1000
        requests; requests that differ alike are on one.
        """
        query = {"kind": "request", "api": api, **filters}
        found = self.control.ask("GET", "/v1/requests/near-misses", query=query)
        return [miss["text"] for miss in found["near_misses"]]

    def last_request_number(self) -> int:
        """Return the number of the newest request, as `since` to select only later ones."""
        number: int = self.control.ask("GET", "/v1/requests/status")["last_number"]
        return number
