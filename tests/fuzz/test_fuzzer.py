from dataclasses import replace
from typing import Any

import pytest

from broker.routes import ROUTES
from protocol.api_keys import ApiKey
from tests.fuzz import journal_reading
from tests.fuzz.corpus import CorpusFrame, frames_with_nulls, read_corpus
from tests.fuzz.fuzzer import Fuzzer


def fail(*_arguments: Any, **_options: Any) -> Any:
    raise RuntimeError("poisoned")


def break_list_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    route = replace(ROUTES[ApiKey.LIST_GROUPS], handler=fail)
    monkeypatch.setitem(ROUTES, ApiKey.LIST_GROUPS, route)


def frame_of(api_key: ApiKey, version: int) -> CorpusFrame:
    [frame] = [
        frame for frame in read_corpus() if (frame.api_key, frame.version) == (api_key, version)
    ]
    return frame


def test_the_corpus_has_every_api_in_every_version() -> None:
    served = {
        (route.api_key, version)
        for route in ROUTES.values()
        for version in range(route.version_min, route.version_max + 1)
    }
    assert served <= {(frame.api_key, frame.version) for frame in read_corpus()}


@pytest.mark.slow
def test_no_frame_of_the_corpus_harms_the_broker_or_a_neighbour() -> None:
    corpus = read_corpus()
    fuzzer = Fuzzer(corpus, seed=1)
    for frame in corpus:
        fuzzer.step(frame.data)
    fuzzer.check_neighbour()
    assert fuzzer.report.findings == []
    assert fuzzer.report.outcomes["answered"] > len(corpus) / 2


@pytest.mark.slow
def test_changed_frames_harm_neither_the_broker_nor_a_neighbour() -> None:
    report = Fuzzer(read_corpus(), seed=1).run(300_000)
    assert report.findings == []
    assert report.outcomes["answered"] > 500


@pytest.mark.slow
def test_the_journal_of_frames_with_nulls_can_be_read() -> None:
    fuzzer = Fuzzer([], seed=1)
    fuzzer.new_cluster(has_journal=True)
    for frame in frames_with_nulls():
        fuzzer.step(frame.data)
    fuzzer.check_journal()
    assert fuzzer.report.findings == []
    assert fuzzer.report.outcomes["closed"] > 500
    assert fuzzer.report.outcomes["answered"] > 100


def test_the_journal_of_changed_frames_can_be_read() -> None:
    fuzzer = Fuzzer(read_corpus(), seed=2)
    fuzzer.new_cluster(has_journal=True)
    report = fuzzer.run(20_000)
    assert report.findings == []
    assert report.outcomes["answered"] > 100


def test_a_line_that_cannot_be_read_is_found_with_its_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal_reading, "describe_line", fail)
    metadata = frame_of(ApiKey.METADATA, 9)
    fuzzer = Fuzzer([metadata], seed=1)
    fuzzer.new_cluster(has_journal=True)
    fuzzer.step(metadata.data)
    fuzzer.check_journal()
    [finding] = fuzzer.report.findings
    assert "poisoned" in finding.what
    assert finding.data == metadata.data


@pytest.mark.slow
@pytest.mark.parametrize("has_journal", [False, True])
def test_fetch_sessions_of_every_version_are_continued_without_harm(has_journal: bool) -> None:
    fuzzer = Fuzzer(read_corpus(), seed=1)
    fuzzer.new_cluster(has_journal=has_journal)
    continued = 0
    for _ in range(300):
        session_id = fuzzer.sessions.session_id
        fuzzer.step_in_session()
        continued += session_id != 0 and session_id == fuzzer.sessions.session_id
    fuzzer.check_journal()
    assert fuzzer.report.findings == []
    assert continued > 100


def test_a_handler_that_raises_is_found_with_its_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    break_list_groups(monkeypatch)
    listing = frame_of(ApiKey.LIST_GROUPS, 4)
    fuzzer = Fuzzer([listing], seed=1)
    fuzzer.step(listing.data)
    [finding] = fuzzer.report.findings
    assert "poisoned" in finding.what
    assert finding.data == listing.data


def test_a_harmed_neighbour_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    route = ROUTES[ApiKey.LIST_GROUPS]
    break_list_groups(monkeypatch)
    fuzzer = Fuzzer(read_corpus(), seed=1)
    fuzzer.check_neighbour()
    versions = route.version_max - route.version_min + 1
    assert [finding.what[:26] for finding in fuzzer.report.findings] == [
        "a neighbour's ListGroups v"
    ] * versions
