"""The authorizer that the configuration of a cluster names."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from broker.config.authorizer_settings import AUTHORIZER_CLASS, allows_without_acl, super_users

if TYPE_CHECKING:
    from broker.authorization.authorizer import Authorizer


def configured_authorizer(
    config: Mapping[str, Any], on_change: Callable[[], None]
) -> "Authorizer | None":
    """Return the authorizer of `authorizer.class.name`; None if everybody may do everything.

    `on_change` is called after each change of its rules.
    """
    if not config[AUTHORIZER_CLASS]:
        return None
    from broker.authorization.authorizer import Authorizer  # noqa: PLC0415 - see ADR 24

    authorizer = Authorizer(super_users(config), allows_without_acl=allows_without_acl(config))
    authorizer.on_change = on_change
    return authorizer
