"""Addresses that brokers listen on and advertise."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port; port 0 stands for the port that the broker listens on."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def shifted(self, by: int) -> "Address":
        """Return the address with the port plus `by`; port 0 stays."""
        return Address(self.host, self.port + by if self.port else 0)
