"""How many files this process may have open, and how many connections that leaves room for."""

import socket
import sys
from contextlib import suppress

try:
    import resource
except ImportError:  # Windows has no such limit for sockets
    resource = None  # type: ignore[assignment]

RESERVED_FILES = 16
"""Open files that connections leave to modules that load late, and to TLS."""
ADMIN_CONNECTIONS_MIN = 16
"""Connections that the admin port takes at a low limit of open files."""
MACOS_FILES_MAX = 10_240
"""The most that macOS lets a process ask for, even if its hard limit is higher or infinite."""


def raise_file_limit() -> None:
    """Raise the limit of open files to the hard limit; each connection needs one."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (hard, MACOS_FILES_MAX):
        if soft == hard or 0 <= limit <= soft:
            return
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            return


def max_admin_connections() -> int:
    """Return how many connections the admin port may have: a small part of the open files."""
    return max(ADMIN_CONNECTIONS_MIN, _limit() // 16)


def max_connections() -> int:
    """Return how many connections of Kafka clients the limit of open files has room for.

    Raises:
        OSError: there is no room for any, and what to do about it.
    """
    limit = _limit()
    # The system gives the lowest free number to a new file.
    with socket.socket() as probe:
        used = probe.fileno()
    reserved = used + max_admin_connections() + RESERVED_FILES
    if limit <= reserved:
        raise OSError(
            f"the limit of open files is {limit}, and this cluster needs {reserved + 1} at least:"
            f" raise it, such as by `ulimit -n {max(1024, reserved * 2)}`"
        )
    return limit - reserved


def _limit() -> int:
    if resource is None:
        return sys.maxsize
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
