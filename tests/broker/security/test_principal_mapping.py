"""Names of certificates, and Kafka's rules for them."""

from typing import Any

import pytest

from broker.config.keys import ConfigError
from broker.security.principal_mapping import certificate_name, distinguished_name, name_mapper


def subject(*parts: tuple[str, str]) -> Any:
    return tuple((part,) for part in parts)


def test_a_distinguished_name_has_rfc_2253_order_and_keywords() -> None:
    parts = subject(
        ("countryName", "DE"),
        ("organizationName", "Mock"),
        ("organizationalUnitName", "Tests"),
        ("commonName", "alice"),
    )
    assert distinguished_name(parts) == "CN=alice,OU=Tests,O=Mock,C=DE"
    assert certificate_name({"subject": parts}) == "CN=alice,OU=Tests,O=Mock,C=DE"


@pytest.mark.parametrize("certificate", [None, {}])
def test_without_a_certificate_there_is_no_name(certificate: Any) -> None:
    assert certificate_name(certificate) is None


@pytest.mark.parametrize(
    ("value", "escaped"),
    [("a,b", r"a\,b"), (" a ", r"\ a\ "), ("#a", r"\#a"), ('a+"\\<>;', r"a\+\"\\\<\>\;")],
)
def test_special_characters_are_escaped(value: str, escaped: str) -> None:
    assert distinguished_name(subject(("commonName", value))) == f"CN={escaped}"


def test_a_part_may_have_several_attributes() -> None:
    assert distinguished_name(((("commonName", "a"), ("userId", "b")),)) == "CN=a+UID=b"


RULES = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L,"
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    "RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U,"
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U,DEFAULT"
)


@pytest.mark.parametrize(
    ("rules", "name", "principal"),
    [
        ("DEFAULT", "CN=alice,OU=x", "CN=alice,OU=x"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT", "CN=Al,OU=ServiceUsers,O=x", "Al"),
        (RULES, "CN=Duke,OU=ServiceUsers,O=Org,C=US", "duke"),
        (RULES, "CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        (RULES, "cn=duke,ou=sme,dc=mycp,dc=com", "DUKE@SME"),
        (RULES, "O=org,CN=duke.x", "DUKE.X"),
        (RULES, "O=org", "O=org"),
        ("RULE:^CN=(.*?)$/$1-$2\\/x/", "CN=a", "a-$2/x"),
        ("RULE:^CN=b$/b/", "CN=a", None),
        ("RULE:CN=(a+)+$/$1/", "CN=" + "a" * 40 + "_", None),
        ("RULE:.*/$0!/", "CN=a", "CN=a!"),
    ],
)
def test_the_first_rule_that_matches_applies(rules: str, name: str, principal: str | None) -> None:
    assert name_mapper(rules)(name) == principal


@pytest.mark.parametrize(
    "rules", ["default", "RULE:^CN", "RULE:(/x/", "RULE:a(?!b)/x/", "DEFAULT,RULE:a/b/X"]
)
def test_an_invalid_rule_is_refused(rules: str) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.principal\.mapping\.rules"):
        name_mapper(rules)
