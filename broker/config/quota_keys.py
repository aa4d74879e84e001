"""Broker keys of quotas: client quotas, topic changes (KIP-599), producer ids (KIP-936)."""

from broker.config.keys import ConfigKey, ConfigType
from broker.config.values import at_least, between, more_than_zero_below_one, one_of
from quotas.definitions import definitions_problem

_INT, _DOUBLE, _STRING = ConfigType.INT, ConfigType.DOUBLE, ConfigType.STRING
_BOOLEAN = ConfigType.BOOLEAN

AUTO_ERROR_CODE = "auto"
"""Value of `producer.id.quota.error.code`: the error follows the client's library."""

QUOTA_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "client.quotas",
        _STRING,
        "",
        "Client quotas that are set from the start, as if by AlterClientQuotas:"
        " user=alice,client-id=app,producer_byte_rate=1024; user=<default>,request_percentage=50"
        " and so on, with <default> for the default entity.",
        definitions_problem,
        is_mock_only=True,
    ),
    ConfigKey(
        "client.quota.shadow",
        _BOOLEAN,
        False,
        "Whether client quotas are evaluated and reported only, and not enforced. Quotas on new"
        " connections always are.",
        is_dynamic=True,
        is_per_broker=True,
        is_mock_only=True,
    ),
    ConfigKey(
        "quota.window.num",
        _INT,
        11,
        "Samples over which the rate of a client quota is measured.",
        at_least(1),
    ),
    ConfigKey(
        "quota.window.size.seconds",
        _INT,
        1,
        "Seconds that one sample of a client quota spans.",
        at_least(1),
    ),
    ConfigKey(
        "controller.quota.window.num",
        _INT,
        11,
        "Samples of the quota on topic changes; with their length they set its burst (KIP-599).",
        at_least(1),
    ),
    ConfigKey(
        "controller.quota.window.size.seconds",
        _INT,
        1,
        "Seconds that one sample of the quota on topic changes spans (KIP-599).",
        at_least(1),
    ),
    ConfigKey(
        "producer.id.quota.window.num",
        _INT,
        11,
        "Samples of the reported rate of new producer ids (KIP-936).",
        at_least(1),
    ),
    ConfigKey(
        "producer.id.quota.window.size.seconds",
        _INT,
        3600,
        "Seconds over which a user's quota of new producer ids refills (KIP-936).",
        at_least(1),
    ),
    ConfigKey(
        "producer.id.quota.cache.layer.count",
        _INT,
        4,
        "Layers of the filter that remembers a user's producer ids (KIP-936).",
        between(1, 8),
        is_mock_only=True,
    ),
    ConfigKey(
        "producer.id.quota.cache.false.positive.rate",
        _DOUBLE,
        0.001,
        "Share of new producer ids that may be taken for known ones, over all layers together"
        " (KIP-936).",
        more_than_zero_below_one,
        is_mock_only=True,
    ),
    ConfigKey(
        "producer.id.quota.cache.cleanup.scheduler.interval.ms",
        _INT,
        10,
        "How often producer ids past their window are dropped (KIP-936).",
        at_least(1),
    ),
    ConfigKey(
        "producer.id.quota.error.code",
        _STRING,
        AUTO_ERROR_CODE,
        "The error of a refused producer id (KIP-936). auto is THROTTLING_QUOTA_EXCEEDED, but"
        " NOT_ENOUGH_REPLICAS for client libraries that are known to fail the batch on it.",
        one_of(AUTO_ERROR_CODE, "THROTTLING_QUOTA_EXCEEDED", "NOT_ENOUGH_REPLICAS"),
        is_dynamic=True,
        is_per_broker=True,
        is_mock_only=True,
    ),
)
