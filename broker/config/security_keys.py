"""Broker keys that say who may connect, and how it is proved."""

from broker.config.keys import ConfigKey, ConfigType
from broker.config.values import at_least, between, each_of

SECURITY_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "listeners",
        ConfigType.LIST,
        ("PLAINTEXT://:9092",),
        "Where to listen: name, host and port of every listener. An empty host is --host.",
    ),
    ConfigKey(
        "listener.security.protocol.map",
        ConfigType.LIST,
        ("PLAINTEXT:PLAINTEXT", "SSL:SSL", "SASL_PLAINTEXT:SASL_PLAINTEXT", "SASL_SSL:SASL_SSL"),
        "Which security protocol each listener speaks.",
    ),
    ConfigKey(
        "sasl.enabled.mechanisms",
        ConfigType.LIST,
        ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"),
        "The SASL mechanisms clients may choose from. Kafka's default is GSSAPI, unknown here.",
        each_of("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"),
    ),
    ConfigKey(
        "sasl.users",
        ConfigType.PASSWORD,
        None,
        "Users of PLAIN and SCRAM as NAME:PASSWORD,...; %2C is a comma, %25 a percent sign.",
        is_mock_only=True,
    ),
    ConfigKey(
        "connections.max.reauth.ms",
        ConfigType.LONG,
        0,
        "Time after which a SASL client must authenticate again; 0 is never.",
        at_least(0),
    ),
    ConfigKey(
        "connection.failed.authentication.delay.ms",
        ConfigType.INT,
        100,
        "Time that a client waits to be told that it is not who it says.",
        between(0, 60_000),
    ),
)
