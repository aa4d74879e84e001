"""Broker keys that say who may connect, and how it is proved."""

from broker.config.keys import ConfigKey, ConfigType
from broker.config.values import at_least, between, each_of, one_of

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
    ConfigKey(
        "ssl.keystore.type",
        ConfigType.STRING,
        "PEM",
        "Form of the broker's key and certificate; Kafka's default, JKS, is unknown here.",
        one_of("PEM"),
    ),
    ConfigKey(
        "ssl.keystore.location",
        ConfigType.STRING,
        None,
        "File with the broker's private key and certificates, for TLS listeners.",
    ),
    ConfigKey(
        "ssl.key.password",
        ConfigType.PASSWORD,
        None,
        "Password of the private key, when it is encrypted.",
    ),
    ConfigKey(
        "ssl.truststore.type",
        ConfigType.STRING,
        "PEM",
        "Form of the certificates that clients' certificates are checked by.",
        one_of("PEM"),
    ),
    ConfigKey(
        "ssl.truststore.location",
        ConfigType.STRING,
        None,
        "File with the certificates of those who may vouch for clients.",
    ),
    ConfigKey(
        "ssl.client.auth",
        ConfigType.STRING,
        "none",
        "Whether SSL listeners ask clients for a certificate; SASL_SSL listeners never do.",
        one_of("none", "requested", "required"),
    ),
    ConfigKey(
        "ssl.principal.mapping.rules",
        ConfigType.STRING,
        "DEFAULT",
        "How a certificate's distinguished name becomes the principal.",
    ),
)
