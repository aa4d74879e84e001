# ruff: noqa: E501
"""Keys of listeners and authentication."""

from broker.config.broker_keys import NOT_EMPTY
from broker.config.keys import (
    BOOLEAN,
    INT,
    LIST,
    LONG,
    ONE_BROKER,
    PASSWORD,
    READ_ONLY,
    STRING,
    ConfigKey,
    ListRule,
    mock_key,
)
from broker.config.values import at_least, between, one_of, pem_store

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
PROTOCOL_MAP = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"

# fmt: off
SECURITY_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("listeners",                                 LIST,     ("PLAINTEXT://:9092",), NOT_EMPTY,              ONE_BROKER, "Name, host and port of every listener. An empty host is --host.", differs_at_start=True),
    ConfigKey("listener.security.protocol.map",            STRING,   PROTOCOL_MAP,         None,                     ONE_BROKER, "Which security protocol each listener speaks."),
    ConfigKey("sasl.enabled.mechanisms",                   LIST,     MECHANISMS,           ListRule(MECHANISMS),     ONE_BROKER, "SASL mechanisms that clients may use. Kafka's default, GSSAPI, is not supported."),
    ConfigKey("sasl.server.max.receive.size",              INT,      524_288,              None,                     READ_ONLY,  "Largest request of a client that has to authenticate; a larger one closes the connection."),
    mock_key("sasl.users",                                 PASSWORD, None,                 None,                     READ_ONLY, "Users of PLAIN and SCRAM as NAME:PASSWORD,...; %2C is a comma, %25 a percent sign."),
    ConfigKey("delegation.token.secret.key",               PASSWORD, None,                 None,                     READ_ONLY, "Secret from which the HMACs of delegation tokens are made; without it there are no tokens."),
    ConfigKey("delegation.token.max.lifetime.ms",          LONG,     604_800_000,          at_least(1),              READ_ONLY, "Longest life of a delegation token, however often it is renewed."),
    ConfigKey("delegation.token.expiry.time.ms",           LONG,     86_400_000,           at_least(1),              READ_ONLY, "Longest time for which a delegation token is valid before it must be renewed."),
    ConfigKey("delegation.token.expiry.check.interval.ms", LONG,     3_600_000,            at_least(1),              READ_ONLY, "Interval at which expired delegation tokens are removed."),
    ConfigKey("connections.max.reauth.ms",                 LONG,     0,                    at_least(0),              READ_ONLY, "Time after which a SASL client must authenticate again; 0 is never."),
    ConfigKey("connection.failed.authentication.delay.ms", INT,      100,                  between(0, 60_000),       READ_ONLY, "Delay of the response to a failed authentication."),
    ConfigKey("ssl.keystore.type",                         STRING,   "PEM",                pem_store,                ONE_BROKER, "Format of the broker's key and certificate; Kafka's default, JKS, is not supported."),
    ConfigKey("ssl.keystore.location",                     STRING,   None,                 None,                     ONE_BROKER, "File with the broker's private key and certificates, for TLS listeners."),
    ConfigKey("ssl.keystore.key",                          PASSWORD, None,                 None,                     ONE_BROKER, "The broker's private key itself as PEM, in place of a file."),
    ConfigKey("ssl.keystore.certificate.chain",            PASSWORD, None,                 None,                     ONE_BROKER, "The broker's certificates themselves as PEM, with ssl.keystore.key."),
    ConfigKey("ssl.keystore.password",                     PASSWORD, None,                 None,                     ONE_BROKER, "Password of a keystore of another type than PEM, which is refused with PEM."),
    ConfigKey("ssl.key.password",                          PASSWORD, None,                 None,                     ONE_BROKER, "Password of the private key, if it is encrypted."),
    ConfigKey("ssl.truststore.type",                       STRING,   "PEM",                pem_store,                ONE_BROKER, "Format of the trusted certificates."),
    ConfigKey("ssl.truststore.location",                   STRING,   None,                 None,                     ONE_BROKER, "File with the certificates of the authorities that sign client certificates."),
    ConfigKey("ssl.truststore.certificates",               PASSWORD, None,                 None,                     ONE_BROKER, "The trusted certificates themselves as PEM, in place of a file."),
    ConfigKey("ssl.truststore.password",                   PASSWORD, None,                 None,                     ONE_BROKER, "Password of a truststore of another type than PEM, which is refused with PEM."),
    ConfigKey("ssl.allow.dn.changes",                      BOOLEAN,  False,                None,                     READ_ONLY, "Whether the broker's certificate at run time may have another distinguished name."),
    ConfigKey("ssl.allow.san.changes",                     BOOLEAN,  False,                None,                     READ_ONLY, "Whether the broker's certificate at run time may lack alternative names of the old one."),
    ConfigKey("ssl.client.auth",                           STRING,   "none",               one_of("required", "requested", "none"), ONE_BROKER, "Whether SSL listeners ask clients for a certificate; SASL_SSL listeners never do."),
    ConfigKey("ssl.principal.mapping.rules",               STRING,   "DEFAULT",            None,                     READ_ONLY, "Rules that map a certificate's distinguished name to the principal."),
)
# fmt: on

STORE_KEYS = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
"""Keys of certificates, which change at run time, with the prefix of a listener only."""

SIGNED_TOKENS_HANDLER = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
)
"""The `sasl.server.callback.handler.class` of a listener whose tokens must be signed."""
UNSECURED_TOKENS_HANDLER = (
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured"
    ".OAuthBearerUnsecuredValidatorCallbackHandler"
)
TOKEN_HANDLERS = frozenset({SIGNED_TOKENS_HANDLER, UNSECURED_TOKENS_HANDLER})

LISTENER_KEYS = STORE_KEYS | {
    "connections.max.reauth.ms",
    "max.connection.creation.rate",
    "max.connections",
    "sasl.enabled.mechanisms",
    "sasl.oauthbearer.allow.unverified.audience",
    "sasl.oauthbearer.allow.unverified.issuer",
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.server.max.receive.size",
    "ssl.allow.dn.changes",
    "ssl.allow.san.changes",
    "ssl.cipher.suites",
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.principal.mapping.rules",
}
"""Keys that act with the prefix of a listener, too."""
