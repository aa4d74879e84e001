"""What brokers and clients know about client quotas: Kafka's enums and the order of precedence."""

from enum import IntEnum


class QuotaMatch(IntEnum):
    """Which entities of a type match: `match_type` of DescribeClientQuotas (KIP-546)."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


def quota_levels(user: str, client_id: str) -> tuple[dict[str, str | None], ...]:
    """Return the entities whose quota may apply to a client, the most specific first.

    An entity has names by their type; None is the default entity of a type. The first one with a
    quota decides. Source: Kafka's `DefaultQuotaCallback.quotaLimit`.
    """
    return (
        {"user": user, "client-id": client_id},
        {"user": user, "client-id": None},
        {"user": user},
        {"user": None, "client-id": client_id},
        {"user": None, "client-id": None},
        {"user": None},
        {"client-id": client_id},
        {"client-id": None},
    )
