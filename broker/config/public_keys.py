"""Which configuration values may be shown, to the readers of a journal and the authors of rules."""

from broker.config.broker_config import BROKER_KEYS
from broker.config.topic_keys import TOPIC_KEYS


def may_show_config(name: str) -> bool:
    """Return whether the value of a configuration key is known not to be a secret."""
    key = BROKER_KEYS.get(name) or TOPIC_KEYS.get(name)
    return key is not None and not key.is_sensitive
