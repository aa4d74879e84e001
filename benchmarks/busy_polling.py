"""Wait for responses without sleeping.

A server that sends to a process that sleeps pays for waking it. In a virtual machine that takes
about 10 µs, as much as a request, and a faster load sleeps more often. So the load of a measurement
of server CPU polls.
"""

import select
import time


def poll(epoll: select.epoll, wait_s: float) -> list[tuple[int, int]]:
    """Return the events of sockets as `epoll.poll` does; an empty list after `wait_s`."""
    events = epoll.poll(0)
    if not events:
        give_up_s = time.perf_counter() + wait_s
        while not (events := epoll.poll(0)) and time.perf_counter() < give_up_s:
            pass
    return events
