# ruff: noqa: E501
"""Keys of quotas: client quotas, topic mutations (KIP-599), producer ids (KIP-936)."""

from broker.config.keys import (
    BOOLEAN,
    DOUBLE,
    INT,
    PER_BROKER,
    READ_ONLY,
    STRING,
    ConfigKey,
    mock_key,
)
from broker.config.values import at_least, between, explained_by, one_of
from quotas.definitions import definitions_problem

AUTO_ERROR_CODE = "auto"
"""Value of `producer.id.quota.error.code`: the error depends on the client's library.

It is THROTTLING_QUOTA_EXCEEDED, or NOT_ENOUGH_REPLICAS for a library that would fail the batch on it.
"""

ERROR_CODES = (AUTO_ERROR_CODE, "THROTTLING_QUOTA_EXCEEDED", "NOT_ENOUGH_REPLICAS")

# fmt: off
QUOTA_KEYS: tuple[ConfigKey, ...] = (
    mock_key("client.quotas",                                          STRING,  "",              explained_by(definitions_problem), READ_ONLY,  "Client quotas from the start: user=alice,client-id=app,producer_byte_rate=1024; user=<default>,... and so on."),
    mock_key("client.quota.shadow",                                    BOOLEAN, False,           None,                 PER_BROKER, "Whether client quotas are measured and reported only. Quotas on new connections are always enforced."),
    ConfigKey("quota.window.num",                                      INT,     11,              at_least(1),          READ_ONLY,  "Samples over which the rate of a client quota is measured."),
    ConfigKey("quota.window.size.seconds",                             INT,     1,               at_least(1),          READ_ONLY,  "Seconds of one sample of a client quota."),
    ConfigKey("controller.quota.window.num",                           INT,     11,              at_least(1),          READ_ONLY,  "Samples of the quota on topic mutations; with their length they set its burst (KIP-599)."),
    ConfigKey("controller.quota.window.size.seconds",                  INT,     1,               at_least(1),          READ_ONLY,  "Seconds of one sample of the quota on topic mutations (KIP-599)."),
    mock_key("producer.id.quota.window.num",                          INT,     11,              at_least(1),          READ_ONLY,  "Samples of the reported rate of new producer ids (KIP-936)."),
    mock_key("producer.id.quota.window.size.seconds",                 INT,     3600,            at_least(1),          READ_ONLY,  "Seconds over which a user's quota of new producer ids refills (KIP-936)."),
    mock_key("producer.id.quota.cache.layer.count",                    INT,     4,               between(1, 8),        READ_ONLY,  "Layers of the filter that remembers a user's producer ids (KIP-936)."),
    mock_key("producer.id.quota.cache.false.positive.rate",            DOUBLE,  0.001,           between(1e-6, 0.5),   READ_ONLY,  "Share of new producer ids that may count as known, over all layers (KIP-936). Lower rates would exceed the memory bound."),
    mock_key("producer.id.quota.cache.cleanup.scheduler.interval.ms", INT,     10,              at_least(1),          READ_ONLY,  "How often the broker drops producer ids past their window (KIP-936)."),
    mock_key("producer.id.quota.error.code",                           STRING,  AUTO_ERROR_CODE, one_of(*ERROR_CODES), PER_BROKER, "Error for a refused producer id (KIP-936). auto: the error that the client's library retries."),
)
# fmt: on
