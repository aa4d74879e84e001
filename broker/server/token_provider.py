"""The keys of OAuth providers: from a file, or from an HTTP endpoint of this machine.

The broker fetches the key set of an endpoint when it starts, at an interval on its clock, and
when a client sends a token with an unknown key id. A thread fetches it, so that no request waits.

Source: Kafka's `RefreshingHttpsJwks`.
"""

import asyncio
import urllib.request
from functools import partial
from http.client import HTTPException
from pathlib import Path
from urllib.parse import unquote, urlsplit

from broker.config.keys import ConfigError
from broker.log import log
from broker.security.signed_tokens import Keys
from broker.security.token_keys import KEY_SET_BYTES_MAX, KeysOfEndpoint, KeysOfFile
from broker.security.token_settings import ProviderSettings
from broker.timers import Timer, Timers

TIMEOUT_S = 10


class TokenProviders:
    """The providers of all listeners; listeners with the same settings share the keys."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._keys: dict[ProviderSettings, Keys] = {}
        self._asking: dict[ProviderSettings, asyncio.Future[None]] = {}
        self._retries: dict[ProviderSettings, Timer] = {}
        """The next attempt after an error."""

    async def keys(self, settings: ProviderSettings) -> Keys:
        """Return the keys of a provider, after reading them once.

        Raises:
            ConfigError: they cannot be read.
        """
        if settings not in self._keys:
            try:
                self._keys[settings] = await _first_keys(settings.url)
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f"sasl.oauthbearer.jwks.endpoint.url: {settings.url}: {error}"
                ) from None
        return self._keys[settings]

    def start(self, now_ms: int) -> None:
        """Ask endpoints again at their intervals, from now on; timers of before are gone."""
        self._retries.clear()
        for settings, keys in self._keys.items():
            if isinstance(keys, KeysOfEndpoint):
                keys.on_missing = partial(self._ask, settings, keys, settings.retry_backoff_ms)
                self._schedule(settings, keys, now_ms)

    def stop(self) -> None:
        """Wait for no response any more."""
        for asking in self._asking.values():
            asking.cancel()

    def _schedule(self, settings: ProviderSettings, keys: KeysOfEndpoint, now_ms: int) -> None:
        def refresh(due_ms: int) -> None:
            self._schedule(settings, keys, due_ms)
            self._ask(settings, keys, settings.retry_backoff_ms, due_ms)

        self._timers.schedule(now_ms + settings.refresh_ms, refresh)

    def _ask(
        self, settings: ProviderSettings, keys: KeysOfEndpoint, backoff_ms: int, now_ms: int
    ) -> None:
        """Ask an endpoint, unless a request is in flight; after an error ask again, ever later."""
        if settings in self._asking:
            return

        async def ask() -> None:
            try:
                keys.take(await asyncio.to_thread(_fetch, settings.url))
                self._timers.cancel(self._retries.pop(settings, None))
            except (OSError, ValueError) as error:
                log.warning(
                    "the keys of tokens cannot be read", url=settings.url, reason=str(error)
                )
                self._retry(settings, keys, backoff_ms, now_ms)
            finally:
                del self._asking[settings]

        self._asking[settings] = asyncio.ensure_future(ask())

    def _retry(
        self, settings: ProviderSettings, keys: KeysOfEndpoint, backoff_ms: int, now_ms: int
    ) -> None:
        """Ask again later, once however often clients have sent tokens with unknown keys."""
        if settings in self._retries:
            return

        def again(now_ms: int) -> None:
            del self._retries[settings]
            next_backoff_ms = min(2 * backoff_ms, settings.retry_backoff_max_ms)
            self._ask(settings, keys, next_backoff_ms, now_ms)

        self._retries[settings] = self._timers.schedule(now_ms + backoff_ms, again)


async def _first_keys(url: str) -> Keys:
    if url.startswith("file:"):
        return KeysOfFile(Path(unquote(urlsplit(url).path)))
    return KeysOfEndpoint(await asyncio.to_thread(_fetch, url))


def _fetch(url: str) -> bytes:
    """Return the body of a URL, which was checked before; OSError if there is none."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:  # noqa: S310 - see token_settings
            body: bytes = response.read(KEY_SET_BYTES_MAX + 1)
            return body
    except HTTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from error
