import io
import json
from typing import Any

import pytest

from atlas.adapters.adapter import (
    COMMANDS,
    Adapter,
    Failure,
    UnansweredError,
    UnsupportedError,
    encoded,
    mapped,
    offsets_of,
)


class Handle:
    def __init__(self, stops: bool = True) -> None:
        self.stops = stops
        self.is_forgotten = False


class FakeAdapter(Adapter):
    client = "fake"
    version = "1"
    supports = ("producer",)

    def producer(self, id: str, settings: dict[str, Any]) -> dict[str, Any]:
        self.handles[id] = Handle()
        return {"ignored": sorted(settings)}

    def send(self, number: int, value: str) -> None:
        if value == "bad":
            self.undelivered(number, Failure("Bad", "x" * 900, "fatal"))
        else:
            self.delivered(number, None)

    def flush(self) -> None:
        raise UnansweredError

    def seek(self, consumer: Handle, offset: int) -> dict[str, Any]:
        return {"found": isinstance(consumer, Handle), "offset": offset}

    def stop(self, handle: Handle, timeout_ms: int) -> None:
        if not handle.stops:
            raise UnansweredError

    def poll(self) -> None:
        raise UnsupportedError

    def commit(self) -> None:
        raise ValueError("broken")

    def forget(self, handle: Handle) -> None:
        handle.is_forgotten = True


def run(*commands: dict[str, Any]) -> list[dict[str, Any]]:
    output = io.StringIO()
    numbered = ({"n": number, **command} for number, command in enumerate(commands, 1))
    FakeAdapter(output).run(io.StringIO("".join(json.dumps(one) + "\n" for one in numbered)))
    return [json.loads(line) for line in output.getvalue().splitlines()]


def without_times(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    assert all(event.pop("at_ms") >= 0 for event in events)
    return events


def test_the_first_event_says_who_is_ready() -> None:
    [ready] = without_times(run())
    assert ready == {"event": "ready", "client": "fake", "version": "1", "supports": ["producer"]}


def test_every_command_ends_with_one_event() -> None:
    _, *events = without_times(
        run(
            {"command": "begin", "bootstrap": "127.0.0.1:9092"},
            {"command": "producer", "id": "p", "settings": {"acks": 1}},
            {"command": "flush"},
            {"command": "poll"},
            {"command": "commit"},
            {"command": "admin", "id": "a"},
        )
    )
    unanswered = {"error": "unanswered", "message": "the library has not ended the call"}
    broken = {"error": "ValueError", "message": "broken"}
    assert events == [
        {"n": 1, "event": "done"},
        {"n": 2, "event": "done", "ignored": ["acks"]},
        {"n": 3, "event": "failed", **unanswered, "class": "unknown"},
        {"n": 4, "event": "unsupported"},
        {"n": 5, "event": "failed", **broken, "class": "unknown"},
        {"n": 6, "event": "unsupported"},
    ]


@pytest.mark.parametrize("name", ["run", "emit", "handles", "__init__"])
def test_only_commands_of_the_protocol_are_run(name: str) -> None:
    assert name not in COMMANDS
    assert run({"command": name})[-1]["event"] == "unsupported"


def test_records_have_an_outcome_of_their_own() -> None:
    _, *events = without_times(
        run({"command": "send", "value": "good"}, {"command": "send", "value": "bad"})
    )
    assert events[0] == {"event": "delivered", "send": 1, "offset": -1}
    assert events[2] == {
        "event": "undelivered",
        "send": 2,
        "error": "Bad",
        "class": "fatal",
        "message": "x" * 500,
    }


def test_an_experiment_begins_without_what_was_before() -> None:
    adapter = FakeAdapter(io.StringIO())
    adapter.producer("p", {})
    handle = adapter.handles["p"]
    adapter.begin("127.0.0.1:9092")
    assert handle.is_forgotten
    assert (adapter.handles, adapter.bootstrap) == ({}, "127.0.0.1:9092")


def test_a_method_gets_the_client_in_place_of_its_id_and_no_other_fields() -> None:
    _, _, *events = without_times(
        run(
            {"command": "producer", "id": "c", "settings": {}},
            {"command": "seek", "consumer": "c", "topic": "orders", "partition": 0, "offset": 5},
            {"command": "seek", "consumer": "other", "offset": 5},
        )
    )
    assert events[0] == {"n": 2, "event": "done", "found": True, "offset": 5}
    assert (events[1]["event"], events[1]["error"]) == ("failed", "KeyError")


@pytest.mark.parametrize("stops", [True, False])
def test_a_client_that_does_not_close_in_time_is_forgotten(stops: bool) -> None:
    adapter = FakeAdapter(io.StringIO())
    handle = adapter.handles["p"] = Handle(stops)
    try:
        assert adapter.close("p", 100)["took_ms"] >= 0
    except UnansweredError:
        assert not stops
    assert handle.is_forgotten is not stops
    assert adapter.handles == {}


def test_values_and_offsets_are_as_libraries_want_them() -> None:
    assert encoded("a", None) == (b"a", None)
    assert offsets_of(lambda *key: key, {"orders": {"1": 5}}) == {("orders", 1): 5}


def test_nothing_runs_behind_the_end() -> None:
    assert len(run({"command": "end"}, {"command": "sleep", "ms": 0})) == 1


def test_settings_get_the_names_of_the_library() -> None:
    settings = {"acks": -1, "retries": None, "compression": "gzip", "linger_ms": 5}
    known, ignored = mapped(settings, {"acks": "request.required.acks", "retries": "retries"})
    assert known == {"request.required.acks": -1}
    assert ignored == ["compression", "linger_ms"]
