"""Kafka's enums about client quotas, with Kafka's names and numbers."""

from enum import IntEnum


class QuotaMatch(IntEnum):
    """Which entities of a type match: `match_type` of DescribeClientQuotas (KIP-546)."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2
