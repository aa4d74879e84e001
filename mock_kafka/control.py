"""Asking the admin port, over connections that are kept: plain HTTP, no library."""

import json
from collections import deque
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlencode, urlsplit

RESPONSE_TIMEOUT_S = 60.0
"""Moving the clock by a year takes a while."""


class ControlError(RuntimeError):
    """The cluster refused what was asked; the message says why and what to do.

    `status` is that of HTTP: 400 for what is invalid, 404 for what isn't there, 409 for what is not
    possible now.
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class Control:
    """The admin port at `url`; threads may share it, each call has a connection to itself."""

    def __init__(self, url: str, token: str | None = None) -> None:
        """`token` is the value of `broker.admin.token`, where it is set."""
        self.url = url
        self._address = urlsplit(url).netloc
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._idle: deque[HTTPConnection] = deque()

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, object] | None = None,
        timeout_s: float = RESPONSE_TIMEOUT_S,
    ) -> Any:
        """The response's body, decoded where it is JSON; None where there is none.

        Of `query`, what is None is left out.

        Raises:
            ControlError: it was refused.
            ConnectionError: nobody answers.
        """
        target = path
        given = {k: _query_text(each) for k, each in (query or {}).items() if each is not None}
        if given:
            target += f"?{urlencode(given)}"
        data = None if body is None else json.dumps(body).encode()
        try:
            status, content_type, text = self._exchange(method, target, data, timeout_s)
        except TimeoutError as error:
            raise TimeoutError(f"{method} {path}: no response in {timeout_s} s") from error
        except (OSError, HTTPException) as error:
            raise ConnectionError(
                f"{method} {path}: the cluster does not answer at {self.url} ({error!r}); is it"
                " still running? log_lines() has what it said"
            ) from error
        response = json.loads(text) if text and "json" in content_type else text.decode() or None
        if status >= 400:
            detail = response["detail"] if isinstance(response, dict) else f"{status}: {response}"
            raise ControlError(status, detail)
        return response

    def close(self) -> None:
        """Close the connections that are kept."""
        while self._idle:
            self._idle.pop().close()

    def _exchange(
        self, method: str, target: str, data: bytes | None, timeout_s: float
    ) -> tuple[int, str, bytes]:
        while True:
            connection = self._take(timeout_s)
            is_kept = connection.sock is not None
            try:
                connection.request(method, target, data, self._headers)
                response: HTTPResponse = connection.getresponse()
                text = response.read()
            except (OSError, HTTPException) as error:
                connection.close()
                # The other side closes what was idle for long; a new connection shows it.
                if not is_kept or isinstance(error, TimeoutError):
                    raise
                continue
            self._idle.append(connection)
            return response.status, response.headers.get("Content-Type", ""), text

    def _take(self, timeout_s: float) -> HTTPConnection:
        try:
            connection = self._idle.pop()
        except IndexError:
            return HTTPConnection(self._address, timeout=timeout_s)
        if connection.sock is not None:
            connection.sock.settimeout(timeout_s)
        return connection


def _query_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
