"""Bugs of fetch sessions (KIP-227)."""

from broker.cluster import fetch_sessions
from broker.cluster.fetch_sessions import FetchSession, FetchSessionCache, FetchSessionCacheShard
from broker.fetch import fetch_response
from tests.simulation.mutants.mutant import Mutant, edited

FETCH_SESSION_MUTANTS: tuple[Mutant, ...] = (
    edited(
        "An incremental response has no partition without an error.",
        "fetch_sessions",
        fetch_sessions.must_send,
        "bool(data.batches)\n        or data.error_code != ErrorCode.NONE\n"
        "        or partition.high_watermark != data.high_watermark",
        "data.error_code != ErrorCode.NONE",
    ),
    edited(
        "A session takes no new partition.",
        "fetch_sessions",
        FetchSession.update,
        "self.partitions[key] = request",
        "pass",
    ),
    edited(
        "A session keeps the partitions that its client no longer fetches.",
        "fetch_sessions",
        FetchSession.update,
        "self.partitions.pop(key, None)",
        "pass",
    ),
    edited(
        "A partition whose high watermark is known is left out, wherever the client reads.",
        "fetch_sessions",
        fetch_sessions.must_send,
        "bool(data.batches)",
        "False",
    ),
    edited(
        "A session id is given twice.",
        "fetch_sessions",
        FetchSessionCacheShard._new_session_id,
        "if session_id not in self.sessions:",
        "session_id = 1\n        if True:",
    ),
    edited(
        "A request of any epoch continues a session.",
        "fetch_sessions",
        FetchSessionCache.resume,
        "if session.epoch != epoch or",
        "if epoch < 0 or",
    ),
    edited(
        "A response names a session that its client does not have.",
        "fetch_sessions",
        fetch_response._note_sent,
        "return known.session_id",
        "return known.session_id + 1",
    ),
)
