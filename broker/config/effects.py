"""What a key of Kafka has for an effect here, and the reasons why a key has none.

Every key acts as in Kafka, or nobody could tell that it does not, or the broker says that it does
not act: in its log, on the admin port and in docs/coverage.md.
"""

from enum import Enum


class Effect(Enum):
    """What setting a key does."""

    ACTS = "acts"
    """As in Kafka."""
    UNSEEN = "unseen"
    """Nothing, and in Kafka no client and no tool could see it."""
    MISSING = "missing"
    """Nothing, and in Kafka a client or a tool could see it: the broker warns."""


# Why nobody could see it.
THREADS = "It sets how Kafka's threads share work; here one thread does everything."
FILES = "It is about files; logs are in memory."
MEMORY = "It is about buffers and queues in the memory of a process."
METADATA_LOG = "It is about the files of the metadata log; metadata is in memory."
QUORUM = "It is about messages between brokers and controllers; here all are one process."
BROKERS_AS_CLIENTS = "It is about brokers as clients of each other; here they are one process."
ONE_LOG = "It tunes how followers fetch; replicas share one log."
GSSAPI_ONLY = "It is about GSSAPI, which sasl.enabled.mechanisms refuses."
JAVA_TLS = "It chooses classes of Java that do the same; OpenSSL does it here."
TIERED_ONLY = (
    "Kafka reads it where there is tiered storage; remote.log.storage.system.enable warns."
)
UNUSED_BY_KAFKA = "Kafka reads it and does nothing with it."
TESTS_OF_KAFKA = "It is for tests of Kafka itself."
OF_A_PLUGIN = "Kafka does not know it; it keeps it for plug-ins."
NOT_OF_A_LISTENER = "Kafka ignores it too with the prefix of a listener."
NO_OPTIONS = "The login module of SCRAM on a broker has no options."
NEEDS_PREFIX = "Kafka ignores it too, unless it has the prefix of a listener and a mechanism."

# Why it cannot act.
NO_TIERED_STORAGE = "There is no tiered storage."
NO_PLUGINS = "The broker runs no Java and loads no plug-in; it behaves as with the default."
NO_JMX = "The broker has no JMX metrics; the admin port serves Prometheus metrics at /metrics."
NOTHING_COPIED = "A replica moves to another directory at once: its log is in memory."
NO_WINDOW = "A throttled copy waits until what it copied is within the rate, without a window."
NO_LAG = (
    "A follower that lags leaves the ISR at once, so no write waits for it: replicas share one log."
)
NO_LINGER = (
    "A coordinator appends and applies each write at once; reads would have to see the state before"
    " the writes that linger."
)
NO_CLEANING_TIME = (
    "To compact a log takes no time on the broker's clock; Kafka slows down a cleaning that takes"
    " more than 300 ms."
)
