"""Why a client of the atlas can't run on this machine."""

from atlas.clients import CLIENTS
from scenarios.maven import CannotRunError


def why_missing(name: str) -> str | None:
    """Return why a client can't run here, or None if it can.

    Raises:
        KeyError: there is no such client.
    """
    try:
        CLIENTS[name].start()
    except CannotRunError as error:
        return str(error)
    return None
