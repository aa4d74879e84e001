"""What a broker prints when it has started: its addresses, and what clients must set."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

BOOTSTRAP_SERVERS = "bootstrap.servers"
ADMIN_URL = "admin.url"
SECURITY_PROTOCOL = "security.protocol"
CA_LOCATION = "ssl.ca.location"
KEYS = (BOOTSTRAP_SERVERS, ADMIN_URL, SECURITY_PROTOCOL, CA_LOCATION)
"""The keys of the lines; those of listeners other than the first have its name behind a dot."""


class PrintedLines(ABC):
    """The lines `KEY=VALUE` of a running broker."""

    @abstractmethod
    def value_of(self, key: str) -> str:
        """Return the value of a line.

        Raises:
            KeyError: there is no such line.
        """

    @abstractmethod
    def renew(self, values: Mapping[str, str]) -> None:
        """Change the values of lines: the broker has other addresses now."""

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of every broker, comma-separated."""
        return self.value_of(BOOTSTRAP_SERVERS)

    @property
    def admin_url(self) -> str:
        """The URL of the admin port.

        Raises:
            KeyError: the broker was started without one.
        """
        return self.value_of(ADMIN_URL)

    def bootstrap_servers_of(self, listener: str) -> str:
        """Return the addresses of a listener other than the first.

        Raises:
            KeyError: there is no such listener besides the first one.
        """
        return self.value_of(f"{BOOTSTRAP_SERVERS}.{listener}")
