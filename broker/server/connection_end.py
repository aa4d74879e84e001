"""End a socket in another way than by a usual close, as fault rules ask for."""

import os
import socket
from struct import pack
from typing import Any

from broker.responses import CloseManner

_AT_ONCE = pack("ii", 1, 0)
"""`struct linger`: on, and for no time. A close then sends an RST in place of a FIN."""


def end_as(manner: CloseManner, transport: Any) -> bool:
    """End the connection of a transport; return False if a usual close is left to do.

    TLS closes in both directions, so that a half-closed connection is one that closes. A simulated
    transport has no socket: its `abort` is a reset.
    """
    if manner is CloseManner.CLOSE or transport.is_closing():
        return False
    if manner is CloseManner.RESET:
        held = transport.get_extra_info("socket")
        if held is not None:
            # A duplicate, because the socket of a transport of uvloop has no options to set.
            with socket.socket(fileno=os.dup(held.fileno())) as duplicate:
                duplicate.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        transport.abort()
    elif manner is CloseManner.HALF_CLOSE:
        if not transport.can_write_eof():
            return False
        transport.write_eof()
    return True
