"""Keep the CPUs of the machine from sleeping during a measurement.

A process that waits for another one pays for waking its CPU. In a virtual machine that takes from 5
to 50 µs: the host decides how long it polls before it stops a CPU, by how long the CPU slept
before. So the latency of a request and a response changes with the pattern of the load, not with
the work of the server. One process per CPU that the scheduler runs only when nothing else wants
to (SCHED_IDLE) keeps each CPU from stopping.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

SPIN = "import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"


@contextmanager
def awake_cpus() -> Iterator[None]:
    """Run one idle-priority process on each CPU that this process may use during the block."""
    with ExitStack() as stack:
        for cpu in os.sched_getaffinity(0):
            spinner = subprocess.Popen([sys.executable, "-S", "-c", SPIN])
            stack.callback(spinner.wait)
            stack.callback(spinner.kill)
            os.sched_setaffinity(spinner.pid, {cpu})
        yield
