"""What a run of a program ended with, and whether two runs sent the same requests."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from mock_kafka.views import Request

NO_CLIENT_ID = "(no client id)"


@dataclass(frozen=True)
class Evidence:
    """What a run leaves to look at.

    Attributes:
        output: what the program printed, or the traceback of a test.
        journal: the requests, as JSON objects of the admin port.
        pcap: the same requests for Wireshark.
    """

    output: bytes
    journal: Sequence[Mapping[str, object]]
    pcap: bytes


@dataclass(frozen=True)
class Outcome:
    """What one run ended with.

    Attributes:
        kinds: what went wrong, such as `exit status 1` or `audit: stored_twice`; empty if nothing.
        report: the same for people, several lines.
        sequences: what each client sent, see `sequences_of`.
        evidence: of a run that failed.
        error: what a test raised.
    """

    kinds: frozenset[str] = frozenset()
    report: str = ""
    sequences: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    evidence: Evidence | None = None
    error: BaseException | None = None


def sequences_of(requests: Iterable[Request]) -> dict[str, tuple[str, ...]]:
    """Return what each client sent in its order: API, version and names of each request."""
    found: dict[str, list[str]] = {}
    for request in requests:
        names = (*request.topics, *request.groups, *request.transactional_ids)
        sent = " ".join((f"{request.api} v{request.version}", *names))
        found.setdefault(request.client_id or NO_CLIENT_ID, []).append(sent)
    return {client_id: tuple(sent) for client_id, sent in found.items()}


def first_difference(first: Outcome, second: Outcome) -> str | None:
    """Return where the requests of two runs differ for the first time; None if they do not."""
    for client_id in sorted({*first.sequences, *second.sequences}):
        sent = first.sequences.get(client_id, ()), second.sequences.get(client_id, ())
        for number, (one, other) in enumerate(zip_longest(*sent, fillvalue="nothing"), 1):
            if one != other:
                return f"request {number} of {client_id}: {one}, then {other}"
    return None
