"""A client of the admin port with persistent HTTP connections; standard library only."""

import json
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

if TYPE_CHECKING:  # `BrokerProcess` imports it while the broker starts
    from http.client import HTTPConnection, HTTPResponse

__tracebackhide__ = True  # pytest shows the line of the caller

RESPONSE_TIMEOUT_S = 60.0
"""Long enough to move the clock by a year."""

WAIT_MARGIN_S = 10.0
"""How much longer than the cluster this side waits for the response of a request that waits."""


WAITED_TOO_LONG = 408
"""The status of a wait that ended without what was waited for."""


class ControlError(RuntimeError):
    """The cluster refused a request; the message says why and what to do.

    `status` is the HTTP status: 400 for invalid values, 404 for unknown names, 409 if the state of
    the cluster does not allow it. `problem` is the document of the admin port (RFC 9457).
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        from mock_kafka.problem_words import python_words  # noqa: PLC0415 - only for an error

        super().__init__(python_words(problem))
        self.status = status
        self.problem = problem


class Control:
    """A client of the admin port at `url`. Threads may share it: a call has its own connection."""

    def __init__(self, url: str, token: str | None = None) -> None:
        """Connect later, with `token` if `broker.admin.token` is set."""
        self.url = url
        self._address = urlsplit(url).netloc
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._idle: deque[HTTPConnection] = deque()
        self.unanswered: deque[dict[str, Any]] = deque(maxlen=3)
        """The filters of the last `requests()` that fitted none, for the report of a test."""

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, object] | None = None,
        timeout_s: float = RESPONSE_TIMEOUT_S,
    ) -> Any:
        """Send a request; return the body of the response, decoded if it is JSON or text, or None.

        Values in `query` that are None are omitted.

        Raises:
            ControlError: the cluster refused the request.
            ConnectionError: there was no response.
            TimeoutError: what it waits for did not happen, or there was no response for
                `timeout_s`.
        """
        from http.client import HTTPException  # noqa: PLC0415

        target = path
        parameters = {k: _query_text(v) for k, v in (query or {}).items() if v is not None}
        if parameters:
            target += f"?{urlencode(parameters)}"
        data = None if body is None else json.dumps(body).encode()
        try:
            status, content_type, text = self._exchange(method, target, data, timeout_s)
        except TimeoutError:
            raise TimeoutError(f"{method} {path}: no response in {timeout_s} s") from None
        except (OSError, HTTPException) as error:
            raise ConnectionError(
                f"{method} {path}: no response from the cluster at {self.url} ({error!r}); is it"
                " still running? see log_lines()"
            ) from None
        response = _decoded(content_type, text)
        if status >= 400:
            is_problem = isinstance(response, dict)
            problem = response if is_problem else {"detail": f"{status}: {response}"}
            if status == WAITED_TOO_LONG:
                from mock_kafka.problem_words import timeout_words  # noqa: PLC0415

                raise TimeoutError(timeout_words(problem))
            raise ControlError(status, problem)
        return response

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _exchange(
        self, method: str, target: str, data: bytes | None, timeout_s: float
    ) -> tuple[int, str, bytes]:
        from http.client import HTTPException  # noqa: PLC0415

        while True:
            connection = self._take(timeout_s)
            is_kept = connection.sock is not None
            try:
                connection.request(method, target, data, self._headers)
                response: HTTPResponse = connection.getresponse()
                text = response.read()
            except (OSError, HTTPException) as error:
                connection.close()
                # The server closes idle connections; retry on a new one.
                if not is_kept or isinstance(error, TimeoutError):
                    raise
                continue
            self._idle.append(connection)
            return response.status, response.headers.get("Content-Type", ""), text

    def _take(self, timeout_s: float) -> "HTTPConnection":
        from http.client import HTTPConnection  # noqa: PLC0415

        try:
            connection = self._idle.pop()
        except IndexError:
            return HTTPConnection(self._address, timeout=timeout_s)
        if connection.sock is not None:
            connection.sock.settimeout(timeout_s)
        return connection


def _decoded(content_type: str, body: bytes) -> Any:
    if not body:
        return None
    if "ndjson" not in content_type and "json" in content_type:
        return json.loads(body)
    return body if content_type.endswith("pcap") else body.decode()


def _query_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
