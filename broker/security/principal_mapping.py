"""Map a client's certificate to a principal: RFC 2253, then `ssl.principal.mapping.rules`.

Source: Kafka's `SslPrincipalMapper`, and Java's `X500Principal.getName`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from broker.config.keys import ConfigError
from protocol.regular_expressions import groups_of_match, regex_problem

_SHORT_NAMES = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
}
"""Attributes with a keyword in RFC 2253, by OpenSSL's name."""

_SPECIAL = re.compile(r'[,+"\\<>;]')
_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)"
    r"/(?P<case>[LU]?))\s*(?:,|\n|$)"
)
_GROUP = re.compile(r"\$([0-9]+)")

RelativeName = Sequence[tuple[str, str]]
NameMapper = Callable[[str], str | None]
"""Return the principal of a distinguished name, or None if no rule matches."""


def distinguished_name(subject: Sequence[RelativeName]) -> str:
    """Format a certificate's subject (of Python's `getpeercert`) as in RFC 2253."""
    return ",".join(
        "+".join(f"{_SHORT_NAMES.get(kind, kind)}={_escaped(value)}" for kind, value in parts)
        for parts in reversed(subject)
    )


def certificate_name(certificate: Mapping[str, Any] | None) -> str | None:
    """Return the distinguished name of a client's certificate, or None without one."""
    return distinguished_name(certificate["subject"]) if certificate else None


def _escaped(value: str) -> str:
    text = _SPECIAL.sub(lambda found: "\\" + found[0], value)
    if text.startswith((" ", "#")):
        text = "\\" + text
    if text.endswith(" ") and len(value) > 1:
        text = text[:-1] + "\\ "
    return text


@dataclass(frozen=True, slots=True)
class _Rule:
    regex: str | None
    """None is DEFAULT: the name as it is."""
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        if self.regex is None:
            return name
        groups = groups_of_match(self.regex, name)
        if groups is None:
            return None
        text = _GROUP.sub(
            lambda ref: groups[int(ref[1])] if int(ref[1]) < len(groups) else ref[0],
            self.replacement,
        )
        return {"L": text.lower(), "U": text.upper()}.get(self.case, text)


def name_mapper(rules_text: str) -> NameMapper:
    """Return the function for rules such as `RULE:^CN=(.*?),.*$/$1/L,DEFAULT`.

    The first rule that matches the complete name applies.

    Raises:
        ConfigError: `rules` is no valid list of rules.
    """
    rules: list[_Rule] = []
    position = 0
    while position < len(rules_text):
        found = _RULE.match(rules_text, position)
        if found is None:
            raise ConfigError(
                "ssl.principal.mapping.rules: expected DEFAULT or RULE:pattern/replacement/[LU] at"
                f" {rules_text[position : position + 50]!r}"
            )
        position = found.end()
        if found["default"]:
            rules.append(_Rule(None))
            continue
        regex = found["pattern"].replace("\\/", "/")
        problem = regex_problem(regex)
        if problem is not None:
            raise ConfigError(f"ssl.principal.mapping.rules: {regex}: {problem}")
        rules.append(_Rule(regex, found["replacement"].replace("\\/", "/"), found["case"]))

    def principal(name: str) -> str | None:
        return next((mapped for rule in rules if (mapped := rule.apply(name)) is not None), None)

    return principal
