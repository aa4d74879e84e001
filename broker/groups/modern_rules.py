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

    can_rejoin_at_once: bool
    """Whether a member joins again that the coordinator knows with an epoch (Kafka 4.2)."""
    follows_subscriptions: bool
    """Whether a member loses the partitions of topics at once that it no longer subscribes to, and
    keeps its epoch while it revokes several times (Kafka 4.2)."""
    first_epoch: int
    """The epoch of a group before its first member: 0, and 1 since Kafka 4.3."""
    has_partition_epochs: bool
    """Whether a member of a consumer group may commit with an epoch of its past, if it has had the
    partition since then (KIP-1251, Kafka 4.3)."""
    has_assignment_interval: bool
    """Whether targets are computed once in an interval (KIP-1263, Kafka 4.3)."""
    forgets_empty_interval: bool
    """Whether the interval ends with the last member of a group (Kafka 4.4)."""
    follows_assignors: bool
    """Whether another assignor that most members ask for begins an epoch (Kafka 4.4)."""

    def may_assign(self, assignment_ms: int, interval_ms: int, now_ms: int) -> bool:
        """Return whether new targets may be computed.

        The last ones are of `assignment_ms`; with 0 there is no need to wait.
        """
        if not (self.has_assignment_interval and assignment_ms and interval_ms):
            return True
        return now_ms >= assignment_ms + interval_ms


GetModernRules = Callable[[], ModernRules]
"""Returns the rules that hold now; the release changes when brokers are upgraded."""


@cache
def rules_of(release: Release) -> ModernRules:
    """Return the rules of a release."""
    return ModernRules(
        can_rejoin_at_once=release >= (4, 2),
        follows_subscriptions=release >= (4, 2),
        first_epoch=int(release >= (4, 3)),
        has_partition_epochs=release >= (4, 3),
        has_assignment_interval=release >= (4, 3),
        forgets_empty_interval=release >= (4, 4),
        follows_assignors=release >= (4, 4),
    )


def default_rules() -> ModernRules:
    """Return the rules of the default release; `GetModernRules`."""
    return rules_of(DEFAULT_RELEASE)
