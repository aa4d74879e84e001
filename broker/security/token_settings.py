"""How a listener checks the tokens of OAUTHBEARER: unsecured ones, or those of an OAuth provider.

Sources: Kafka's `OAuthBearerValidatorCallbackHandler`, `BrokerJwtValidator` and
`ConfigurationUtils`.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from broker.addresses import is_loopback
from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.config.listener_values import started_texts, started_value
from broker.config.security_keys import SIGNED_TOKENS_HANDLER
from broker.security.jaas import options_of
from broker.security.signed_tokens import Keys, SignedTokens
from broker.security.unsecured_tokens import UnsecuredTokens

_MECHANISM = "oauthbearer"
_HANDLER = f"{_MECHANISM}.sasl.server.callback.handler.class"
_PREFIX = "sasl.oauthbearer."


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Where the keys of a provider are, and how often they are asked for."""

    url: str
    refresh_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int


@dataclass(frozen=True, slots=True)
class SignedTokenSettings:
    """What the tokens of a provider must say, and where its keys are."""

    provider: ProviderSettings
    audiences: frozenset[str]
    issuer: str | None
    clock_skew_ms: int
    scope_claim: str
    subject_claim: str

    def validator(self, keys: Keys) -> SignedTokens:
        """Return what checks the tokens, with the keys of the provider.

        Raises:
            ConfigError: the library that verifies signatures is not installed.
        """
        if find_spec("jwt") is None:
            raise ConfigError(f"{_HANDLER}: signed tokens need pip install 'mock-kafka[oauth]'")
        return SignedTokens(
            keys,
            self.audiences,
            self.issuer,
            self.clock_skew_ms,
            self.scope_claim,
            self.subject_claim,
        )


def signed_token_settings(
    config: BrokerConfig, listener_name: str, broker_id: int
) -> SignedTokenSettings | None:
    """Return the settings of a listener whose tokens must be signed, else None.

    Raises:
        ConfigError: a setting that the validator needs is missing or invalid.
    """
    if started_texts(config, listener_name, broker_id).get(_HANDLER) != SIGNED_TOKENS_HANDLER:
        return None

    def value(name: str) -> Any:
        return started_value(config, broker_id, listener_name, name, _MECHANISM)

    audiences = frozenset(value("sasl.oauthbearer.expected.audience"))
    issuer = value("sasl.oauthbearer.expected.issuer")
    if not audiences and not value("sasl.oauthbearer.allow.unverified.audience"):
        raise _missing("expected.audience", "allow.unverified.audience")
    if issuer is None and not value("sasl.oauthbearer.allow.unverified.issuer"):
        raise _missing("expected.issuer", "allow.unverified.issuer")
    url = value("sasl.oauthbearer.jwks.endpoint.url")
    if url is None:
        raise ConfigError(f"{_PREFIX}jwks.endpoint.url: {_HANDLER} needs the URL of keys")
    _check_url(url)
    refresh_ms = value("sasl.oauthbearer.jwks.endpoint.refresh.ms")
    if refresh_ms <= 0:
        raise ConfigError(f"{_PREFIX}jwks.endpoint.refresh.ms: {refresh_ms} is not positive")
    provider = ProviderSettings(
        url,
        refresh_ms,
        value("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"),
        value("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"),
    )
    return SignedTokenSettings(
        provider,
        audiences,
        issuer,
        value("sasl.oauthbearer.clock.skew.seconds") * 1000,
        value("sasl.oauthbearer.scope.claim.name"),
        value("sasl.oauthbearer.sub.claim.name"),
    )


def unsecured_tokens(config: BrokerConfig, listener_name: str, broker_id: int) -> UnsecuredTokens:
    """Return what checks the unsecured tokens of a listener, with the options of its JAAS entry.

    Raises:
        ConfigError: an option is malformed.
    """
    try:
        return UnsecuredTokens(options_of(config, listener_name, _MECHANISM, broker_id))
    except ValueError as error:
        raise ConfigError(f"{_MECHANISM}.sasl.jaas.config: {error}") from None


def _missing(name: str, allowing: str) -> ConfigError:
    return ConfigError(
        f"{_PREFIX}{name}: {_HANDLER} needs it, or {_PREFIX}{allowing}=true to accept any"
    )


def _check_url(text: str) -> None:
    """Raise ConfigError unless a URL is a file, or HTTP on this machine."""
    url = urlsplit(text)
    if url.scheme == "file" and url.path:
        return
    if url.scheme not in {"http", "https"} or not is_loopback(url.hostname or ""):
        raise ConfigError(
            f"{_PREFIX}jwks.endpoint.url: {text} is neither file:///PATH"
            " nor HTTP on a loopback address"
        )
