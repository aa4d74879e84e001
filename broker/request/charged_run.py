"""Requests of one read that are charged together, for as long as no quota can throttle them."""


class ChargedRun:
    """What a run of requests of one client at one time was not charged yet.

    The credits say how much may be charged and throttles the client for sure not; below 0 the next
    request is charged by itself.
    """

    __slots__ = ("byte_count", "byte_credit", "has_begun", "ns_credit", "spent_ns")

    def __init__(self) -> None:
        self.byte_count = self.spent_ns = 0
        self.byte_credit = self.ns_credit = -1
        self.has_begun = False
        """Whether a request was charged by itself, so that it is worth while to ask for credit."""
