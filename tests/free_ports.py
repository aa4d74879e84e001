"""Ports for servers that must know their port before they start."""

import random
import socket
from contextlib import closing

HOST = "127.0.0.1"
# Below the ports that systems hand out to outgoing connections: such a connection could take the
# port before the server does.
_PORTS = range(20_000, 32_000)


def free_port_run(count: int) -> int:
    """The first of `count` free ports in a row."""
    rng = random.Random()  # not seeded: two runs on one machine must not want the same ports
    while True:
        first = rng.randrange(_PORTS.start, _PORTS.stop - count)
        if all(_is_free(port) for port in range(first, first + count)):
            return first


def _is_free(port: int) -> bool:
    with closing(socket.socket()) as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
