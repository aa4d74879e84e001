"""The page of a report."""

from proxy.diff.field_comparison import FieldDifference
from proxy.diff.played_request import PlayedRequest
from proxy.diff.report import Report
from proxy.diff.report_page import page_of
from tests.proxy.diff.real_cluster import START_MS, frame_of


def test_the_page_escapes_what_clients_have_sent() -> None:
    report = Report()
    request = PlayedRequest(frame_of(1, "ListGroups", 4, {}), START_MS)
    report.differs(request, FieldDifference("ListGroups", "a", "a", "<script>", "b"))
    report.compared("ListGroups", 1, is_same=False)
    page = page_of(report.document())
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert "answers 0.00 %" in page
