"""Which listeners need signed tokens, and what is wrong with their settings."""

import pytest

from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.security.token_settings import (
    ProviderSettings,
    signed_token_settings,
    unsecured_tokens,
)

PREFIX = "listener.name.outside."
HANDLER = {
    f"{PREFIX}oauthbearer.sasl.server.callback.handler.class": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
    )
}
SETTINGS = {
    **HANDLER,
    "sasl.oauthbearer.expected.audience": "kafka,other",
    "sasl.oauthbearer.expected.issuer": "https://provider.test",
    f"{PREFIX}sasl.oauthbearer.jwks.endpoint.url": "file:///keys.json",
    f"{PREFIX}oauthbearer.sasl.oauthbearer.sub.claim.name": "login",
}


def test_a_listener_has_its_own_settings() -> None:
    config = BrokerConfig(SETTINGS)
    settings = signed_token_settings(config, "OUTSIDE", 1)
    assert settings is not None
    assert settings.provider == ProviderSettings("file:///keys.json", 3_600_000, 100, 10_000)
    assert settings.audiences == {"kafka", "other"}
    assert settings.issuer == "https://provider.test"
    assert (settings.clock_skew_ms, settings.scope_claim) == (30_000, "scope")
    assert settings.subject_claim == "login"
    assert signed_token_settings(config, "INSIDE", 1) is None


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"sasl.oauthbearer.expected.audience": ""}, "expected.audience"),
        ({"sasl.oauthbearer.expected.issuer": None}, "expected.issuer"),
        ({f"{PREFIX}sasl.oauthbearer.jwks.endpoint.url": None}, "jwks.endpoint.url"),
        ({"sasl.oauthbearer.jwks.endpoint.refresh.ms": "0"}, "jwks.endpoint.refresh.ms"),
        *(
            ({f"{PREFIX}sasl.oauthbearer.jwks.endpoint.url": url}, "jwks.endpoint.url")
            for url in ("http://provider.test/keys", "http://10.0.0.1/", "ftp://127.0.0.1/", "keys")
        ),
    ],
)
def test_a_missing_or_bad_setting_is_named(changed: dict[str, str | None], key: str) -> None:
    texts = {name: text for name, text in (SETTINGS | changed).items() if text is not None}
    with pytest.raises(ConfigError, match=rf"sasl\.oauthbearer\.{key}: "):
        signed_token_settings(BrokerConfig(texts), "OUTSIDE", 1)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/k", "https://localhost/k", "http://[::1]/"])
def test_an_endpoint_of_this_machine_may_be_asked(url: str) -> None:
    texts = {**SETTINGS, f"{PREFIX}sasl.oauthbearer.jwks.endpoint.url": url}
    settings = signed_token_settings(BrokerConfig(texts), "OUTSIDE", 1)
    assert settings is not None
    assert settings.provider.url == url


def test_any_issuer_and_audience_may_be_allowed() -> None:
    texts = {
        **HANDLER,
        "sasl.oauthbearer.jwks.endpoint.url": "file:///keys.json",
        "sasl.oauthbearer.allow.unverified.audience": "true",
        "sasl.oauthbearer.allow.unverified.issuer": "true",
    }
    settings = signed_token_settings(BrokerConfig(texts), "OUTSIDE", 1)
    assert settings is not None
    assert (settings.audiences, settings.issuer) == (frozenset(), None)


def test_a_malformed_option_of_unsecured_tokens_is_an_error() -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
    key = f"{PREFIX}oauthbearer.sasl.jaas.config"
    texts = {key: f'{module} unsecuredValidatorAllowableClockSkewMs="-1";'}
    with pytest.raises(ConfigError, match=r"oauthbearer\.sasl\.jaas\.config: .*negative"):
        unsecured_tokens(BrokerConfig(texts), "OUTSIDE", 1)
    assert unsecured_tokens(BrokerConfig({}), "OUTSIDE", 1) is not None
