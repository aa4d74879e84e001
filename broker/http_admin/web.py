"""The HTTP server of the admin port: aiohttp around the operations."""

import asyncio
import hmac
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Set
from hashlib import blake2b
from inspect import isasyncgenfunction
from ipaddress import ip_address
from socket import SO_SNDBUF, SOL_SOCKET, socket
from typing import Any

from aiohttp import web

from broker.addresses import without_brackets
from broker.http_admin import (  # noqa: F401 - importing them declares the operations
    acls,
    audit,
    brokers,
    clock,
    configs,
    controller,
    faults,
    follow,
    group_control,
    group_offsets,
    groups,
    journal_bytes,
    log_ends,
    near_misses,
    producers,
    quotas,
    record_search,
    requests,
    schemas,
    search,
    service,
    snapshot,
    topic_configs,
    topic_records,
    topics,
    transactions,
)
from broker.http_admin.direct_port import PROBLEM_TYPE, result_of
from broker.http_admin.operation import OPERATIONS, Operation, Problem
from broker.http_admin.places import Connection, Places
from broker.http_admin.state import Admin
from broker.log import log

BODY_BYTES_MAX = 4 * 1024 * 1024
LONG_BODY_BYTES = 64 * 1024
"""A longer body is read in turns with the requests of clients."""
LINE_BYTES_MAX = 64 * 1024
"""Bound of a path with its query: a name of 1,000 characters may take 12,000 bytes."""

BODY_S_MAX = 10.0
"""Time for the body of a request, from the end of its head on."""
LINGER_S = 2.0
"""Time to read the rest of a body that was not wanted, so that its client gets the response."""
KEEP_ALIVE_S = 75.0
"""Time after which a connection without requests is closed."""

EVENT_STREAM = "text/event-stream"
FOLLOWER_BUFFER_BYTES = 16 * 1024
"""Bytes of events that we, and again the system, keep for a follower that does not read them."""

SHUTDOWN_S = 0.2

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the page: it loads its own files, and runs nothing else."""


SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class AdminPort:
    """Serve the operations over HTTP, from `start` until `stop`."""

    def __init__(
        self,
        admin: Admin,
        token: str | None,
        allowed_hosts: Set[str],
        connections_max: int = sys.maxsize,
    ) -> None:
        """Callers must send `token` as `Authorization: Bearer`; None requires no token.

        The Host header must be an IP address or one of `allowed_hosts`. At most `connections_max`
        are open at a time.
        """
        self._places = Places(connections_max)
        self._servers: list[asyncio.Server] = []
        self._admin = admin
        self._token = token
        self._allowed_hosts = {host.lower() for host in allowed_hosts}
        self._runner: web.AppRunner | None = None

    async def start(self, sockets: Iterable[socket]) -> None:
        """Serve on sockets that listen already."""
        app = web.Application(middlewares=[self._guard], client_max_size=BODY_BYTES_MAX)
        for op in OPERATIONS:
            app.router.add_route(op.method, op.path, self._handler_of(op))
        # Cancel the handler of a client that disconnects while it waits or follows.
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            handler_cancellation=True,
            keepalive_timeout=KEEP_ALIVE_S,
            lingering_time=LINGER_S,
            max_line_size=LINE_BYTES_MAX,
            logger=logging.Logger("aiohttp", logging.CRITICAL),  # a client sent broken HTTP
            shutdown_timeout=SHUTDOWN_S,
        )
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        for bound in sockets:
            self._servers.append(await loop.create_server(self._new_protocol, sock=bound))

    def _new_protocol(self) -> asyncio.BaseProtocol:
        assert self._runner is not None
        server = self._runner.server
        assert server is not None
        return Connection(self._places, server())

    async def stop(self) -> None:
        """Stop listening and cancel the requests in progress."""
        for server in self._servers:
            server.close()
        if self._runner is not None:
            await self._runner.cleanup()

    def _handler_of(self, op: Operation) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            if not op.is_open:
                self._check_token(request)
            self._admin.check_operation(op.operation_id)
            if op.body_bytes_max is not None:
                request = request.clone(client_max_size=op.body_bytes_max)
            body = await _body_of(request)
            is_compressed = "Content-Encoding" in request.headers
            self._places.body_is_complete(request.protocol, None if is_compressed else body)

            def read_input() -> dict[str, Any]:
                return op.read_input(request.match_info, request.query, body)

            is_long = op.read_bytes is not None or len(body) > LONG_BODY_BYTES
            arguments = await self._admin.alone_in_turns(read_input) if is_long else read_input()
            if isasyncgenfunction(op.handler):
                return await _stream(request, op, op.handler(self._admin, **arguments))
            return await _respond(request, op, await result_of(self._admin, op, arguments))

        return handle

    def _check_token(self, request: web.Request) -> None:
        if self._token is None:
            return
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            token.strip().encode(errors="surrogateescape"), self._token.encode()
        ):
            detail = "send the header 'Authorization: Bearer TOKEN'; the token is the value of"
            raise Problem(401, f"{detail} broker.admin.token")

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Turn every error into a problem document, and refuse pages of other sites."""
        with self._places.request(request.protocol):
            return await self._answer(request, handler)

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            self._check_origin(request)
            return await handler(request)
        except Problem as problem:
            return _problem_response(problem)
        except web.HTTPException as error:
            return _problem_response(_problem_of(request, error), error.headers.get("Allow"))
        except Exception as error:
            log.exception("admin request failed", method=request.method, path=request.path)
            return _problem_response(Problem(500, f"a bug in the broker: {error!r}"))

    def _check_origin(self, request: web.Request) -> None:
        """Refuse requests that a page of another site sends, also through DNS rebinding.

        A link of another site to the page is a GET that browsers call `cross-site`.
        """
        site = request.headers.get("Sec-Fetch-Site")
        if request.method not in SAFE_METHODS and site not in {None, "same-origin", "none"}:
            raise Problem(403, f"a page of another site sent this (Sec-Fetch-Site: {site})")
        origin = request.headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != request.host:
            raise Problem(403, f"pages of {origin} may not use this port")
        host = _host_of(request.host)
        if not _is_address(host) and host not in self._allowed_hosts:
            detail = "use an address or localhost, or start with --admin-allowed-host"
            raise Problem(403, f"{host!r} is not a name of this port: {detail}")


async def _body_of(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(BODY_S_MAX):
            return await request.read()
    except TimeoutError as error:
        raise Problem(408, f"the body did not arrive in {BODY_S_MAX:g} s") from error
    except web.RequestPayloadError as error:
        raise Problem(400, f"body: it is not what its headers say: {error}") from error


def _host_of(host_and_port: str) -> str:
    """Return the name or address of a Host header, without port and brackets."""
    host, separator, port = host_and_port.rpartition(":")
    if not separator or not port.isdigit():
        host = host_and_port
    return without_brackets(host).lower()


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


async def _respond(request: web.Request, op: Operation, parts: list[bytes]) -> web.StreamResponse:
    if op.media_type is None:
        return web.Response(status=op.status)
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    if op.has_etag:
        etag = await _etag(parts)
        headers["ETag"] = f'"{etag}"'
        if any(known.value in {etag, "*"} for known in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
    response = web.StreamResponse(status=op.status, headers=headers)
    response.content_type = op.media_type
    response.content_length = sum(map(len, parts))
    if op.media_type.startswith("text/"):
        response.charset = "utf-8"
    if op.media_type == "text/html":
        response.headers["Content-Security-Policy"] = CONTENT_POLICY

    async def chunks() -> AsyncIterator[bytes]:
        for index, part in enumerate(parts):
            if index:
                await asyncio.sleep(0)  # others come in between
            yield part

    return await _send(request, response, chunks())


async def _etag(parts: list[bytes]) -> str:
    """Return a hash of a body, which every change of the body changes."""
    digest = blake2b(digest_size=12)
    for index, part in enumerate(parts):
        if index:
            await asyncio.sleep(0)  # others come in between
        digest.update(part)
    return digest.hexdigest()


async def _stream(
    request: web.Request, op: Operation, chunks: AsyncIterator[bytes]
) -> web.StreamResponse:
    assert op.media_type is not None
    response = web.StreamResponse(headers={"Cache-Control": "no-store"})
    response.content_type = op.media_type
    if op.media_type == EVENT_STREAM:
        _bound_buffers(request)
    return await _send(request, response, chunks)


async def _send(
    request: web.Request, response: web.StreamResponse, chunks: AsyncIterator[bytes]
) -> web.StreamResponse:
    try:
        await response.prepare(request)
        async for chunk in chunks:
            if chunk:
                await response.write(chunk)
    except ConnectionError:
        pass  # the client has disconnected
    finally:
        await chunks.aclose()  # type: ignore[attr-defined]  # a generator, as `isasyncgenfunction` has checked
    return response


def _bound_buffers(request: web.Request) -> None:
    """Keep little for a follower that does not read, so that it soon waits and costs nothing."""
    if request.transport is not None:
        request.transport.set_write_buffer_limits(FOLLOWER_BUFFER_BYTES)
        connected = request.transport.get_extra_info("socket")
        connected.setsockopt(SOL_SOCKET, SO_SNDBUF, FOLLOWER_BUFFER_BYTES)


def _problem_of(request: web.Request, error: web.HTTPException) -> Problem:
    match error.status:
        case 404:
            return Problem(
                404, f"there is nothing at {request.path}; GET /openapi.json lists the operations"
            )
        case 405:
            allowed = error.headers.get("Allow", "")
            return Problem(405, f"{request.path} takes {allowed}, not {request.method}")
        case 413:
            return Problem(413, f"the body is larger than {BODY_BYTES_MAX} bytes")
        case _:
            return Problem(error.status, error.text or error.reason)


def _problem_response(problem: Problem, allowed: str | None = None) -> web.Response:
    response = web.Response(
        status=problem.status, body=problem.document(), content_type=PROBLEM_TYPE
    )
    if problem.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if allowed is not None:
        response.headers["Allow"] = allowed
    return response
