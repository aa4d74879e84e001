"""What a run of a program ended with, and whether two runs sent the same requests."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
    """Return what each client sent of each API, in its order: the names in each request.

    A client may have several connections, so the order of different APIs varies, and so does the
    number of connections, each of which begins with ApiVersions.
    """
    found: dict[str, list[str]] = {}
    for request in requests:
        if request.api == "ApiVersions":
            continue
        names = (*request.topics, *request.groups, *request.transactional_ids)
        sender = f"{request.api} of {request.client_id or NO_CLIENT_ID}"
        found.setdefault(sender, []).append(" ".join(names) or "no names")
    return {sender: tuple(sent) for sender, sent in found.items()}


def first_difference(first: Outcome, second: Outcome) -> str | None:
    """Return the first difference between the requests of two runs; None if there is none."""
    for sender in sorted({*first.sequences, *second.sequences}):
        one, other = first.sequences.get(sender, ()), second.sequences.get(sender, ())
        if len(one) != len(other):
            return f"{len(one)} {sender}, then {len(other)}"
        for number, names in enumerate(zip(one, other, strict=True), 1):
            if len(set(names)) > 1:
                return f"{sender}, request {number}: {names[0]}, then {names[1]}"
    return None
