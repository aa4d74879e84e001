"""A timer with microsecond precision if the kernel has timerfd, else the event loop's."""

import asyncio
import ctypes
import os
import struct
from collections.abc import Callable

_CLOCK_MONOTONIC = 1
_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_TIMER = struct.Struct("@4q")  # interval and value, seconds and nanoseconds each
_LEAST_US = 1


class PreciseTimer:
    """Calls back once per `set`; event loops round their own timers up to milliseconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None
        self._libc, self._fd = _open_timerfd()
        if self._fd >= 0:
            loop.add_reader(self._fd, self._expired)

    def set(self, delay_us: int) -> None:
        """Call back after `delay_us`; replace a time that was set before."""
        delay_us = max(_LEAST_US, delay_us)
        if self._fd < 0:
            if self._handle is not None:
                self._handle.cancel()
            self._handle = self._loop.call_later(delay_us / 1e6, self._callback)
            return
        seconds, rest_us = divmod(delay_us, 1_000_000)
        self._libc.timerfd_settime(self._fd, 0, _TIMER.pack(0, 0, seconds, rest_us * 1000), None)

    def close(self) -> None:
        """Cancel the timer."""
        if self._handle is not None:
            self._handle.cancel()
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _expired(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:  # the timer was set again
            return
        self._callback()


def _open_timerfd() -> tuple[ctypes.CDLL, int]:
    """Open a timerfd by libc, because os.timerfd_create is new in Python 3.13."""
    libc = ctypes.CDLL(None)
    try:
        return libc, int(libc.timerfd_create(_CLOCK_MONOTONIC, _FLAGS))
    except AttributeError:
        return libc, -1
