import re

import pytest

from broker.config.authorizer_settings import (
    SHORT_NAME,
    STANDARD_AUTHORIZER,
    allows_without_acl,
    super_users,
)
from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", ""),
        (SHORT_NAME, STANDARD_AUTHORIZER),
        (f" {SHORT_NAME} ", STANDARD_AUTHORIZER),
        (STANDARD_AUTHORIZER, STANDARD_AUTHORIZER),
    ],
)
def test_the_only_authorizer_has_two_names(text: str, value: str) -> None:
    config = BrokerConfig({"authorizer.class.name": text})
    assert config["authorizer.class.name"] == value
    assert config.overrides["authorizer.class.name"] in {text, value}


@pytest.mark.parametrize("text", ["kafka.security.authorizer.AclAuthorizer", "true", "ACL"])
def test_another_class_is_refused(text: str) -> None:
    message = f"{text} for configuration authorizer.class.name: The broker runs no Java: String"
    with pytest.raises(ConfigError, match=re.escape(message)):
        BrokerConfig({"authorizer.class.name": text})


@pytest.mark.parametrize(
    ("text", "users"),
    [
        (None, set()),
        ("", set()),
        (";", set()),
        ("User:admin", {"User:admin"}),
        (" User:a ; User:CN=b,O=c;Role:d:e ", {"User:a", "User:CN=b,O=c", "Role:d:e"}),
    ],
)
def test_super_users_are_separated_by_semicolons(text: str | None, users: set[str]) -> None:
    assert super_users({"super.users": text}) == users


def test_a_super_user_without_a_type_stops_a_broker_that_has_an_authorizer() -> None:
    keys = {"super.users": "User:a;b"}
    assert BrokerConfig(keys)["super.users"] == "User:a;b"
    message = "super.users: expected a string in format principalType:principalName but got b"
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        BrokerConfig({**keys, "authorizer.class.name": SHORT_NAME})


@pytest.mark.parametrize(
    ("text", "is_allowed"),
    [(None, False), ("", False), ("no", False), ("true", True), (" TRUE ", True), ("1", False)],
)
def test_only_the_word_true_allows_everything_without_a_rule(
    text: str | None, is_allowed: bool
) -> None:
    assert allows_without_acl({"allow.everyone.if.no.acl.found": text}) is is_allowed
