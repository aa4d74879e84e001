"""The bytes of the journal: one request with its frames in hex, and a packet capture of many."""

from collections.abc import AsyncIterator, Iterable
from functools import partial

from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.operation import Count, Input, Problem, operation
from broker.http_admin.request_view import LineView
from broker.http_admin.requests import EXPORT_LINES_MAX, JournalQuery, journal_filter
from broker.http_admin.state import Admin
from broker.journal.journal import WITH_SECRETS
from broker.journal.lines import Entry, Line
from broker.journal.pcap import PacketWriter, file_header
from broker.journal.rendering import describe_line
from protocol.pacing import may_pause, paced


class LinePath(Input):
    """A line of the journal by its number."""

    number: Count


class BytesQuery(Input):
    """With `secrets` also the frames of APIs that may have passwords or tokens."""

    secrets: bool = False


class CaptureQuery(JournalQuery, kw_only=True):
    """With `secrets` also the frames of APIs that may have passwords or tokens."""

    secrets: bool = False


@operation("GET", "/v1/requests/{number}", tag="requests", turn_kind=TurnKind.READING)
@may_pause
def get_request(admin: Admin, path: LinePath, query: BytesQuery) -> LineView:
    """Return one line; a request with its decoded messages and with its frames in hex.

    `request_hex` and `response_hex` begin with the size of the frame. They are null if the journal
    has not kept the frame, or if it may have secrets and the query does not ask for them.
    """
    line = next((line for line in admin.journal if line.number == path.number), None)
    if line is None:
        first = next((line.number for line in admin.journal), None)
        kept = "it is empty" if first is None else f"it has {first} to {admin.journal.last_number}"
        raise Problem(404, f"the journal has no line {path.number}; {kept}")
    described = describe_line(line, admin.topic_name)
    if isinstance(line, Entry):
        frame, response = line.frame, line.response
        is_shown = query.secrets or not _has_secrets(line)
        size = b"" if frame is None else len(frame).to_bytes(4, "big")
        described["request_hex"] = (size + frame).hex() if is_shown and frame else None
        described["response_hex"] = bytes(response).hex() if is_shown and response else None
    return described


@operation("GET", "/v1/requests/pcap", tag="requests", media_type="application/vnd.tcpdump.pcap")
async def export_pcap(admin: Admin, query: CaptureQuery) -> AsyncIterator[bytes]:
    """Export all requests that fit and their responses as a packet capture for Wireshark.

    The packets are made up around the frames: TCP between 10.1.x.y, one per connection, and port
    9092 of 10.0.0.N, the broker N. Without `secrets` it leaves out requests that may have passwords
    or tokens, and those whose frame the journal has not kept.
    """
    line_filter = journal_filter(query)
    writer = PacketWriter()
    yield file_header()

    def packets(lines: Iterable[Line]) -> bytes:
        return b"".join(
            writer.packets(line)
            for line in paced(lines)
            if isinstance(line, Entry)
            and (query.secrets or not _has_secrets(line))
            and line_filter.fits(line, admin.topic_name)
        )

    lines = tuple(admin.journal)
    for start in range(0, len(lines), EXPORT_LINES_MAX):
        part = lines[start : start + EXPORT_LINES_MAX]
        yield await admin.in_turns(partial(packets, part))


def _has_secrets(entry: Entry) -> bool:
    return entry.context.api_key in WITH_SECRETS
