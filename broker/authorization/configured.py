"""The authorizer that the configuration of a cluster names."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from broker.authorization.authorizer import Authorizer


def configured_authorizer(config: Mapping[str, Any]) -> "Authorizer | None":
    """Return the authorizer of `authorizer.class.name`; None if everybody may do everything."""
    if not config["authorizer.class.name"]:
        return None
    from broker.authorization.authorizer import Authorizer  # noqa: PLC0415 - see ADR 24

    super_users = frozenset(
        name.strip() for name in (config["super.users"] or "").split(";") if name.strip()
    )
    return Authorizer(
        super_users, allows_without_acl=config["allow.everyone.if.no.acl.found"] == "true"
    )
