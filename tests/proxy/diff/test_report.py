"""What a report says."""

from proxy.diff.field_comparison import FieldDifference
from proxy.diff.played_request import PlayedRequest
from proxy.diff.report import SAME, Report
from tests.proxy.diff.real_cluster import START_MS, frame_of


def test_the_sentence_is_there_only_if_nothing_differs() -> None:
    report = Report()
    report.compared("ListGroups", 3, is_same=True)
    assert report.verdict == SAME
    request = PlayedRequest(frame_of(1, "ListGroups", 4, {}), START_MS)
    report.differs(request, FieldDifference("ListGroups", "error_code", "error_code", 0, 15))
    assert report.verdict == "answers 99.99 % of your application's requests as your cluster does"
    assert not report.is_same
    assert "DIFFERENT (1): ListGroups error_code" in "\n".join(report.lines())


def test_a_request_is_shown_without_secrets() -> None:
    report = Report()
    upsertion = {
        "name": "u",
        "mechanism": 1,
        "iterations": 4096,
        "salt": "salt-of-u",
        "salted_password": "password-of-u",
    }
    fields = {"deletions": [], "upsertions": [upsertion]}
    frame = frame_of(1, "AlterUserScramCredentials", 0, fields)
    difference = FieldDifference("AlterUserScramCredentials", "results", "results", 1, 2)
    report.differs(PlayedRequest(frame, START_MS), difference)
    assert "of-u" not in str(report.document())
