"""The names in a broker's certificate, and whether another certificate may replace it.

Source: Kafka's `SslFactory.CertificateEntries`. The texts are those of its exceptions.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from protocol.hash_order import in_hash_order, string_hash

if TYPE_CHECKING:
    from cryptography import x509

_CONFIG_EXCEPTION = "org.apache.kafka.common.config.ConfigException: "
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class CertificateNames:
    """The distinguished name of a certificate, and its alternative names as Java writes them.

    An alternative name has its number in RFC 5280 and its text.
    """

    distinguished: str
    alternatives: tuple[tuple[int, str], ...]

    @classmethod
    def read(cls, pem: bytes) -> "CertificateNames":
        """Return the names in the first certificate of a PEM text.

        Raises:
            ValueError: there is no certificate.
        """
        from cryptography import x509  # noqa: PLC0415 - a slow import that few clusters need

        certificate = x509.load_pem_x509_certificate(pem)
        parts = (part.rfc4514_string() for part in reversed(certificate.subject.rdns))
        try:
            extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
            names = [_as_java(name) for name in extension.value]
        except x509.ExtensionNotFound:
            names = []
        found = tuple(dict.fromkeys(name for name in names if name is not None))
        return cls(", ".join(parts), found)

    def change_problem(
        self, new: "CertificateNames", *, allows_name: bool, allows_alternatives: bool
    ) -> str | None:
        """Return why a listener with these names cannot change to a certificate, or None."""
        if not allows_name and _normal(self.distinguished) != _normal(new.distinguished):
            return (
                f"{_CONFIG_EXCEPTION}Keystore DistinguishedName does not match: "
                f" existing={{alias=kafka, DN={self.distinguished}}},"
                f" new={{alias=kafka, DN={new.distinguished}}}"
            )
        if not allows_alternatives and not set(self.alternatives) <= set(new.alternatives):
            return (
                f"{_CONFIG_EXCEPTION}Keystore SubjectAltNames do not match: "
                f" existing={{alias=kafka, SAN={_shown(self.alternatives)}}},"
                f" new={{alias=kafka, SAN={_shown(new.alternatives)}}}"
            )
        return None


def _normal(name: str) -> str:
    """Return a distinguished name without differences that Java overlooks."""
    return _SPACES.sub(" ", name).strip().casefold()


def _as_java(name: "x509.GeneralName") -> tuple[int, str] | None:
    """Return a name as `X509Certificate.getSubjectAlternativeNames` does; None for rare kinds."""
    from cryptography import x509  # noqa: PLC0415 - see `CertificateNames.read`

    if isinstance(name, x509.IPAddress):
        address = name.value
        if isinstance(address, IPv6Address):
            return 7, ":".join(f"{int(part, 16):x}" for part in address.exploded.split(":"))
        return 7, str(address)
    for kind, number in (
        (x509.RFC822Name, 1),
        (x509.DNSName, 2),
        (x509.UniformResourceIdentifier, 6),
    ):
        if isinstance(name, kind):
            return number, name.value
    return None


def _shown(names: tuple[tuple[int, str], ...]) -> str:
    """Return names as Java prints a set of them."""
    ordered = in_hash_order(names, _hash, capacity_min=int(len(names) / 0.75) + 1)
    return f"[{', '.join(f'[{number}, {text}]' for number, text in ordered)}]"


def _hash(name: tuple[int, str]) -> int:
    """Return the hash of Java's list of a number and a text."""
    number, text = name
    return (31 * (31 + number) + string_hash(text)) & 0xFFFFFFFF
