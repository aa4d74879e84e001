import pytest
from structlog.testing import capture_logs

from broker.config.broker_config import BROKER_KEYS
from broker.config.effects import NO_OPTIONS, NO_PLUGINS, Effect
from broker.config.key_warnings import effect_of, ineffective_keys, warn_of_keys
from broker.config.security_keys import SIGNED_TOKENS_HANDLER
from broker.config.topic_keys import TOPIC_KEYS

RELEASE = (4, 4)


def test_a_key_that_kafka_acts_on_gets_a_line_with_the_reason() -> None:
    texts = {
        "authorizer.class.name": "acl",
        "super.users": "User:admin",
        "alter.config.policy.class.name": "a.B",
        "num.network.threads": "9",
        "num.partitions": "3",
        "no.such.key": "1",
    }
    with capture_logs() as lines:
        warn_of_keys(BROKER_KEYS, texts, RELEASE)

    expected = {"event": "a key has no effect", "log_level": "warning", "reason": NO_PLUGINS}
    assert lines == [{**expected, "key": "alter.config.policy.class.name"}]


def test_the_default_of_a_key_is_silent() -> None:
    texts = {"authorizer.class.name": "", "metrics.num.samples": "2"}
    assert ineffective_keys(BROKER_KEYS, texts, RELEASE) == {}
    assert list(ineffective_keys(BROKER_KEYS, {"metrics.num.samples": "3"}, RELEASE)) == [
        "metrics.num.samples"
    ]


def test_a_key_that_the_release_does_not_have_is_silent() -> None:
    texts = {"group.share.dlq.manager.class.name": "org.example.Manager"}
    assert ineffective_keys(BROKER_KEYS, texts, (4, 3)) == {}
    assert ineffective_keys(BROKER_KEYS, texts, (4, 4)) != {}


def test_no_key_of_a_topic_gets_a_line() -> None:
    texts = {"leader.replication.throttled.replicas": "*", "flush.ms": "1"}
    assert ineffective_keys(TOPIC_KEYS, texts, RELEASE) == {}
    assert all(key.effect is not Effect.MISSING for key in TOPIC_KEYS.values())


@pytest.mark.parametrize(
    ("name", "effect", "reason"),
    [
        ("listener.name.inside.max.connections", Effect.ACTS, None),
        ("listener.name.inside.plain.connections.max.reauth.ms", Effect.ACTS, None),
        ("listener.name.inside.plain.sasl.jaas.config", Effect.ACTS, None),
        ("listener.name.inside.scram-sha-256.sasl.jaas.config", Effect.UNSEEN, NO_OPTIONS),
        ("listener.name.inside.oauthbearer.sasl.jaas.config", Effect.ACTS, None),
        ("listener.name.inside.sasl.oauthbearer.expected.issuer", Effect.ACTS, None),
        ("listener.name.inside.principal.builder.class", Effect.MISSING, NO_PLUGINS),
        (
            "listener.name.inside.plain.sasl.server.callback.handler.class",
            Effect.MISSING,
            NO_PLUGINS,
        ),
    ],
)
def test_a_key_of_a_listener_has_the_effect_of_the_key_without_it(
    name: str, effect: Effect, reason: str | None
) -> None:
    assert effect_of(BROKER_KEYS, name) == (effect, reason)


@pytest.mark.parametrize("name", ["listener.name.inside.num.partitions", "my.plugin.key"])
def test_a_key_that_kafka_ignores_is_silent(name: str) -> None:
    assert effect_of(BROKER_KEYS, name)[0] is Effect.UNSEEN
    assert ineffective_keys(BROKER_KEYS, {name: "7"}, RELEASE) == {}


@pytest.mark.parametrize(("handler", "warns"), [(SIGNED_TOKENS_HANDLER, False), ("My", True)])
def test_a_handler_of_tokens_that_is_kafkas_own_is_silent(handler: str, warns: bool) -> None:
    name = "listener.name.inside.oauthbearer.sasl.server.callback.handler.class"
    assert (name in ineffective_keys(BROKER_KEYS, {name: handler}, RELEASE)) is warns
