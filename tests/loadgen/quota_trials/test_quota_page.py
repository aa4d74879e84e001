"""The page, the tables and the JSON values say who would be refused, when and for how long."""

import json
import re

from loadgen.quota_trials.candidates import IDS, Candidate, Window
from loadgen.quota_trials.quota_page import (
    as_dict,
    name_of,
    notes_of,
    number,
    render,
    settings_of,
    tables_of,
    time_of,
)
from tests.loadgen.quota_trials.made_results import results, two_users


def test_the_json_values_have_proposal_trials_and_times() -> None:
    found = json.loads(json.dumps(as_dict(two_users(), results())))
    assert (found["requests"], found["span_ms"]) == (282, 180_000)
    [quota, mutations, ids] = found["quotas"]
    assert quota["key"] == "producer_byte_rate"
    assert set(quota["proposal"]["settings"]) == {"quota.window.num", "quota.window.size.seconds"}
    [refused] = quota["trials"][0]["refused"]
    assert (refused["scope"], refused["is_protected"]) == ("user bob", False)
    assert refused["first_ms"] in range(60_000, 60_100)
    assert refused["muted_ms"][0][0] == refused["first_ms"]
    assert quota["trials"][0]["is_safe"]
    assert not quota["trials"][1]["is_safe"]
    assert mutations["proposal"] is None
    assert ids["proposal"]["settings"] == {"producer.id.quota.window.size.seconds": "3600"}


def test_the_page_is_one_file_and_marks_protected_tenants() -> None:
    page = render(two_users(), results(), {"producer_byte_rate": "<svg/>"})
    assert "Quotas for &lt;made&gt;" in page
    assert page.count("<svg/>") == 1
    assert "no protected tenant uses it" in page
    assert re.search(r'user alice <span class="word protected">protected</span>', page)
    assert "quota.window.num=" in page
    assert not re.search(r'(?:src|href)="(?!data:)', page)


def test_the_first_table_has_the_proposals_and_the_others_who_is_throttled() -> None:
    first, proposed, *_ = tables_of(two_users(), results())
    assert list(first.columns[0].cells) == [
        "producer_byte_rate",
        "controller_mutation_rate",
        "producer_ids_rate",
    ]
    assert list(first.columns[5].cells) == ["user bob", "-", "nobody"]
    assert list(proposed.columns[0].cells) == ["user bob"]


def test_a_note_says_that_the_traffic_is_shorter_than_the_window() -> None:
    [note] = notes_of(two_users(), results())
    assert note.startswith("producer_ids_rate: the traffic is shorter than 3 windows of 3600 s")


def test_texts() -> None:
    assert [time_of(value) for value in (0, 1500, 61_500, 90_061_001)] == [
        "0 s",
        "1.5 s",
        "0:01:01.500",
        "25:01:01.001",
    ]
    assert [number(value) for value in (0.12345, 3, 12_345.6)] == ["0.1235", "3", "12,346"]
    assert name_of(("a", "b")) == "user a, client-id b"
    assert name_of(("", "")) == "no client id"
    assert settings_of(Candidate(IDS, 1, Window(60))) == {
        "producer.id.quota.window.size.seconds": "60"
    }
