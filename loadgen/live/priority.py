"""How the reading of the rows leaves the CPUs to the workers of the same host."""

import os
import threading

from loadgen.host_info import set_background, set_niceness

NICENESS = 5
"""Workers get three times the share of the reading."""


class Priority:
    """The priority of the driver's JVM, and of the threads of this process that read with it.

    A load with intended times is late if a worker wakes and must wait: a thread in the background
    is interrupted at once, whereas a nicer one may keep the CPU for a millisecond or two. Where all
    CPUs are in use, background work hardly runs. A load that is only closed loops uses them all
    and is never late, so there the reading has a lower share instead.
    """

    def __init__(self, jvm_pid: int | None, *, has_intended_times: bool) -> None:
        """Take the JVM that runs the query on the host of the workers; None if it is elsewhere."""
        self._jvm_pid, self._has_intended_times = jvm_pid, has_intended_times
        self._threads: set[int] = set()
        self._has_begun = False

    def begin(self) -> None:
        """Give way with the JVM; call it once the workers run, so that none inherits it."""
        if self._jvm_pid is None or self._has_begun:
            return
        self._has_begun = True
        if self._has_intended_times:
            set_background(self._jvm_pid, is_background=True)
        else:
            set_niceness(self._jvm_pid, NICENESS)

    def add_thread(self) -> None:
        """Give way with the calling thread too."""
        thread = threading.get_native_id()
        if self._has_begun and self._has_intended_times and thread not in self._threads:
            self._threads.add(thread)
            set_background(os.getpid(), is_background=True, threads={thread})

    def end(self) -> None:
        """Give way no longer, as far as the system allows it."""
        if self._jvm_pid is None or not self._has_begun:
            return
        self._has_begun = False
        if self._has_intended_times:
            set_background(self._jvm_pid, is_background=False)
            set_background(os.getpid(), is_background=False, threads=self._threads)
            self._threads = set()
        else:
            set_niceness(self._jvm_pid, 0)
