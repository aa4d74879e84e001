"""What the release of the brokers says about groups whose coordinator assigns.

Source: Kafka's group coordinator of 4.1, 4.2, 4.3 and 4.4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from protocol.releases import DEFAULT_RELEASE, Release


@dataclass(frozen=True, slots=True)
class ModernRules:
    """The rules for groups of consumers, of Kafka Streams and of share consumers."""

    first_epoch: int
    """The epoch of a group before its first member: 0, and 1 since Kafka 4.3."""
    can_rejoin_at_once: bool
    """Whether a member joins again that the coordinator knows with an epoch (Kafka 4.2)."""
    has_partition_epochs: bool
    """Whether a member of a consumer group may commit with an epoch of its past, if it has had the
    partition since then (KIP-1251, Kafka 4.3)."""


GetModernRules = Callable[[], ModernRules]
"""Returns the rules that hold now; the release changes when brokers are upgraded."""


@cache
def rules_of(release: Release) -> ModernRules:
    """Return the rules of a release."""
    return ModernRules(
        first_epoch=int(release >= (4, 3)),
        can_rejoin_at_once=release >= (4, 2),
        has_partition_epochs=release >= (4, 3),
    )


def default_rules() -> ModernRules:
    """Return the rules of the default release; `GetModernRules`."""
    return rules_of(DEFAULT_RELEASE)
