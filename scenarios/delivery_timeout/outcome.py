"""How a client adapter reports the outcome of a record."""

from collections.abc import Callable

Heard = Callable[[str | None], None]
"""Called once for a record: with None when it was delivered, else with the error."""
