"""The states of a group of the consumer protocol."""

from enum import Enum


class ConsumerGroupState(Enum):
    """Kafka's `ConsumerGroupState`; the values are those of ListGroups."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    """The group's epoch is ahead of its target assignment."""
    RECONCILING = "Reconciling"
    """A member has not got its target assignment yet."""
    STABLE = "Stable"
    DEAD = "Dead"
