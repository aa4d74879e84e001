"""Run a program as Python would run it, without what Windows lacks.

`python FLAGS without_posix.py -m MODULE | -c CODE | FILE ARGUMENTS`. `interpreter` writes a script
that has the command line of Python, for programs that start `sys.executable`.
"""

import asyncio
import os
import select
import shlex
import signal
import socket
import stat
import sys
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

MODULES = (
    "_posixshmem",
    "crypt",
    "curses",
    "fcntl",
    "grp",
    "nis",
    "pty",
    "pwd",
    "readline",
    "resource",
    "spwd",
    "syslog",
    "termios",
    "tty",
    "uvloop",
)
"""Modules of POSIX, and uvloop, which has no wheel for Windows."""

OF_OS = (
    *("chown", "chroot", "confstr", "ctermid", "fchdir", "fchmod", "fchown", "fork", "forkpty"),
    *("fpathconf", "getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid"),
    *("getpgrp", "getpriority", "getresuid", "getsid", "getuid", "initgroups", "killpg", "lchown"),
    *("lockf", "mkfifo", "mknod", "nice", "openpty", "pathconf", "pread", "pwrite", "readv"),
    *("register_at_fork", "sched_getaffinity", "sched_setaffinity", "sched_yield", "sendfile"),
    *("setpgid", "setpriority", "setsid", "setuid", "statvfs", "sysconf", "tcgetpgrp", "ttyname"),
    *("uname", "wait", "wait3", "wait4", "writev", "O_NONBLOCK", "O_CLOEXEC", "PRIO_PROCESS"),
)
KEPT_SIGNALS = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM"}
OF_SIGNAL = ("alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "sigwait")
OF_SOCKET = (
    *("AF_UNIX", "CMSG_LEN", "MSG_DONTWAIT", "MSG_NOSIGNAL", "SOCK_CLOEXEC", "SOCK_NONBLOCK"),
    *("SO_REUSEPORT", "sethostname"),
)
OF_SELECT = ("devpoll", "epoll", "kqueue", "poll")


def hide() -> None:
    """Remove them from this process; what the standard library has imported stays for itself."""
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    socket.socketpair = partial(socket.socketpair, socket.AF_UNIX)  # for event loops
    for module, names in (
        (os, OF_OS),
        (signal, (*OF_SIGNAL, *_signals())),
        (socket, OF_SOCKET),
        (select, OF_SELECT),
    ):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for name in ("add_reader", "add_signal_handler", "add_writer", "create_unix_server"):
        setattr(asyncio.SelectorEventLoop, name, _not_implemented)
    for name in ("close", "dup", "read", "write"):
        setattr(os, name, _for_files(getattr(os, name)))


def _signals() -> list[str]:
    names = (name for name in dir(signal) if name.startswith("SIG") and name[3] != "_")
    return [name for name in names if name not in KEPT_SIGNALS]


def _not_implemented(*_arguments: object, **_named: object) -> NoReturn:
    raise NotImplementedError


def _for_files(function: Any) -> Any:
    """Refuse the descriptor of a socket, as Windows does."""

    def refuse_sockets(descriptor: int, *arguments: Any) -> Any:
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            raise OSError(9, "Bad file descriptor")
        return function(descriptor, *arguments)

    return refuse_sockets


def interpreter(folder: Path) -> Path:
    """Write a program that takes the arguments of Python and runs them without POSIX."""
    path = folder / "python"
    python, program = shlex.quote(sys.executable), shlex.quote(__file__)
    path.write_text(
        "#!/bin/sh\n"
        'flags=""\n'
        'while case "$1" in -B|-I|-S|-P|-q|-u) true;; *) false;; esac; do\n'
        '  flags="$flags $1"; shift\n'
        "done\n"
        f'exec {python} $flags {program} "$@"\n'
    )
    path.chmod(0o755)
    return path


def main() -> None:
    """Hide, and run what the command line names."""
    # The standard library itself is that of POSIX.
    import logging.handlers  # noqa: F401, PLC0415
    import multiprocessing.util  # noqa: F401, PLC0415
    import runpy  # noqa: PLC0415
    import shutil  # noqa: F401, PLC0415
    import ssl  # noqa: F401, PLC0415
    import subprocess  # noqa: F401, PLC0415
    import tempfile  # noqa: F401, PLC0415

    kind, *rest = sys.argv[1:]
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd() if kind.startswith("-") else os.path.dirname(kind)
    hide()
    sys.executable = os.environ.get("PYTHON_WITHOUT_POSIX", sys.executable)
    if kind == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = [kind, *rest]
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    main()
