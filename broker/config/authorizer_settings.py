"""The keys of the authorizer: its class, its super users, and what it does without rules.

Sources: Kafka's `StandardAuthorizer.configure` and `SecurityUtils.parseKafkaPrincipal`.
"""

from collections.abc import Mapping
from typing import Any

from broker.config.keys import ConfigError, Invalid

AUTHORIZER_CLASS = "authorizer.class.name"
SUPER_USERS = "super.users"
ALLOWS_WITHOUT_ACL = "allow.everyone.if.no.acl.found"

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SHORT_NAME = "acl"
"""Another name of the only authorizer; Kafka has no such name."""


def with_class_name(overrides: Mapping[str, str]) -> Mapping[str, str]:
    """Return start keys with the class of the authorizer in place of its short name."""
    if overrides.get(AUTHORIZER_CLASS, "").strip() != SHORT_NAME:
        return overrides
    return {**overrides, AUTHORIZER_CLASS: STANDARD_AUTHORIZER}


def known_authorizer(value: Any) -> Invalid | None:
    """Require no authorizer, or Kafka's own: the broker runs no Java."""
    if value in {"", STANDARD_AUTHORIZER}:
        return None
    return Invalid(
        value,
        f"The broker runs no Java: String must be {SHORT_NAME}, which is {STANDARD_AUTHORIZER}, or"
        " empty",
    )


def super_users(values: Mapping[str, Any]) -> frozenset[str]:
    """Return the super users, each with its type, such as `User:admin`.

    Raises:
        ConfigError: one has no type. Without an authorizer nobody reads the key.
    """
    names = [name.strip() for name in (values[SUPER_USERS] or "").split(";")]
    for name in names:
        if name and ":" not in name:
            raise ConfigError(
                f"{SUPER_USERS}: expected a string in format principalType:principalName but got"
                f" {name}"
            )
    return frozenset(filter(None, names))


def allows_without_acl(values: Mapping[str, Any]) -> bool:
    """Whether everybody may use a resource that no rule is about; any text but true is false."""
    return (values[ALLOWS_WITHOUT_ACL] or "").strip().lower() == "true"
