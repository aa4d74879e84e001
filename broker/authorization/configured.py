"""The authorizer that the configuration of a cluster names."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from broker.authorization.authorizer import Authorizer


def configured_authorizer(
    config: Mapping[str, Any], on_change: Callable[[], None]
) -> "Authorizer | None":
    """Return the authorizer of `authorizer.class.name`; None if everybody may do everything.

    `on_change` is called after each change of its rules.
    """
    if not config["authorizer.class.name"]:
        return None
    from broker.authorization.authorizer import Authorizer  # noqa: PLC0415 - see ADR 24

    super_users = frozenset(
        name.strip() for name in (config["super.users"] or "").split(";") if name.strip()
    )
    allows_without_acl = (config["allow.everyone.if.no.acl.found"] or "").strip().lower() == "true"
    authorizer = Authorizer(super_users, allows_without_acl=allows_without_acl)
    authorizer.on_change = on_change
    return authorizer
