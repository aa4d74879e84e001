"""The keys of a provider over HTTP: at the start, at intervals, and for an unknown key."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from broker.config.keys import ConfigError
from broker.security.signed_tokens import Key
from broker.security.token_settings import ProviderSettings
from broker.server.token_provider import TokenProviders
from broker.timers import Timers
from tests.broker.http_application import serving_http
from tests.broker.security.provider import key_set

ONE, TWO = {"kty": "oct", "kid": "one"}, {"kty": "oct", "kid": "two"}
REFRESH_MS = 60_000


class Provider:
    """An endpoint that has keys, or is out of order; it counts requests."""

    def __init__(self) -> None:
        self.body: bytes | None = key_set(ONE)
        self.asked = asyncio.Event()
        self.url = ""

    async def respond(self, _request: web.Request) -> web.Response:
        self.asked.set()
        if self.body is None:
            return web.Response(status=503)
        return web.Response(body=self.body)

    def settings(self) -> ProviderSettings:
        return ProviderSettings(self.url, REFRESH_MS, 100, 1000)


@asynccontextmanager
async def running() -> AsyncIterator[Provider]:
    provider = Provider()
    async with serving_http("/keys", provider.respond) as address:
        provider.url = f"{address}/keys"
        yield provider


async def until(providers: TokenProviders) -> None:
    """Wait for requests in flight."""
    for asking in list(providers._asking.values()):
        await asking


async def test_keys_change_at_the_interval_of_the_brokers_clock() -> None:
    async with running() as provider:
        timers = Timers()
        providers = TokenProviders(timers)
        keys = await providers.keys(provider.settings())
        assert keys is await providers.keys(provider.settings())
        providers.start(0)
        provider.body = key_set(TWO)
        timers.run_due(REFRESH_MS - 1)
        await until(providers)
        assert keys.keys(0) == (ONE,)
        timers.run_due(REFRESH_MS)
        await until(providers)
        assert keys.keys(0) == (TWO,)
        provider.body = key_set(ONE)
        timers.run_due(2 * REFRESH_MS)
        await until(providers)
        assert keys.keys(0) == (ONE,)


async def test_an_unknown_key_is_asked_for_at_once() -> None:
    async with running() as provider:
        providers = TokenProviders(Timers())
        keys = await providers.keys(provider.settings())
        providers.start(0)
        provider.body = key_set(ONE, TWO)
        keys.miss("two", 5)
        keys.miss("three", 5)  # one request is in flight
        await until(providers)
        assert keys.keys(0) == (ONE, TWO)


@pytest.mark.parametrize("body", [None, b"<html>"])
async def test_after_an_error_the_endpoint_is_asked_again(body: bytes | None) -> None:
    async with running() as provider:
        timers = Timers()
        providers = TokenProviders(timers)
        keys = await providers.keys(provider.settings())
        providers.start(0)
        provider.body = body
        timers.run_due(REFRESH_MS)
        await until(providers)
        assert keys.keys(0) == (ONE,)
        provider.body = key_set(TWO)
        timers.run_due(REFRESH_MS + 99)
        assert not providers._asking
        timers.run_due(REFRESH_MS + 100)
        await until(providers)
        assert keys.keys(0) == (TWO,)


async def test_unknown_keys_add_no_retries_while_the_endpoint_is_out_of_order() -> None:
    async with running() as provider:
        timers = Timers()
        providers = TokenProviders(timers)
        keys = await providers.keys(provider.settings())
        providers.start(0)
        provider.body = None
        for number in range(5):
            keys.miss(f"key {number}", number)
            await until(providers)
        assert len(timers) == 2  # the interval, and one more attempt
        provider.body = key_set(TWO)
        timers.run_due(104)
        await until(providers)
        assert keys.keys(0) == (TWO,)
        assert len(timers) == 1


async def test_after_a_reset_an_endpoint_is_asked_again_after_an_error() -> None:
    async with running() as provider:
        timers = Timers()
        providers = TokenProviders(timers)
        keys = await providers.keys(provider.settings())
        providers.start(0)
        provider.body = None
        timers.run_due(REFRESH_MS)
        await until(providers)  # a retry is planned
        timers.clear()
        providers.start(REFRESH_MS)
        timers.run_due(2 * REFRESH_MS)
        await until(providers)
        provider.body = key_set(TWO)
        timers.run_due(2 * REFRESH_MS + 100)
        await until(providers)
        assert keys.keys(0) == (TWO,)


async def test_a_start_without_keys_is_an_error(tmp_path: Path) -> None:
    async with running() as provider:
        provider.body = None
        providers = TokenProviders(Timers())
        with pytest.raises(ConfigError, match="503"):
            await providers.keys(provider.settings())
        missing = ProviderSettings(f"file://{tmp_path}/none.json", 1, 1, 1)
        with pytest.raises(ConfigError, match="No such file"):
            await providers.keys(missing)


async def test_an_endpoint_that_does_not_speak_http_is_an_error() -> None:
    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"no status line\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        settings = ProviderSettings(f"http://127.0.0.1:{port}/keys", 1, 1, 1)
        with pytest.raises(ConfigError, match="no status line"):
            await TokenProviders(Timers()).keys(settings)


async def test_a_file_may_have_a_space_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "the keys.json").write_bytes(key_set(ONE))
    settings = ProviderSettings(f"file://{tmp_path}/the%20keys.json", 1, 1, 1)
    keys: tuple[Key, ...] = (await TokenProviders(Timers()).keys(settings)).keys(0)
    assert keys == (ONE,)
