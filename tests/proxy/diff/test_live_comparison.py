"""One request and its two responses are compared."""

from protocol import messages
from protocol.codec import encode_response
from protocol.messages import api_key_of
from proxy.diff.id_map import IdMap
from proxy.diff.live_comparison import LiveComparison
from proxy.diff.played_request import CLOSED, PlayedRequest
from proxy.diff.recent_changes import RecentChanges
from proxy.diff.report import Report
from tests.proxy.diff.real_cluster import START_MS, broker_of, frame_of


def test_only_one_response_is_a_difference_and_a_known_reason_is_none() -> None:
    report = Report()
    changes = RecentChanges(broker_of(1).cluster, IdMap())
    comparison = LiveComparison(IdMap(), report, 1, "4.4", changes)
    request = PlayedRequest(frame_of(1, "ListGroups", 4, {}), START_MS)
    response = messages.ListGroupsResponse(version=4)
    request.real = encode_response(1, api_key_of("ListGroups"), 4, response)[4:]
    request.ours = CLOSED
    comparison.compare(request, START_MS)
    assert set(report.of("ListGroups").differences) == {"ListGroups response, not closed"}
    comparison.allowances.append(lambda _request, _difference: "it was not recorded")
    comparison.compare(request, START_MS)
    found = report.of("ListGroups")
    assert (found.same, found.different) == (1, 1)
    assert found.allowed == {"it was not recorded": 1}
