from typing import Any

from atlas.reading_workloads import POLLS_MAX, REBALANCED, consume, group, rebalance, share, streams
from atlas.steps import LOOK, WRITE, Reply, Session, Step
from tests.atlas.scripted_replies import failing, follow, names, polling, record


def session(**arguments: Any) -> Session:
    return Session(arguments, {"orders": 2}, {"orders": 3})


def test_a_consumer_reads_until_it_has_all_records() -> None:
    given = session()
    steps = follow(consume(given), given, polling([0, 1], [], [2]))
    main = ["consumer", "poll", "poll", "poll"]
    assert names(steps) == [*main, "heal", "poll afterwards", "close close"]
    assert steps[0].arguments["assign"] == {"orders": [0, 1]}
    assert given.is_usable


def test_a_consumer_that_gets_nothing_is_polled_so_many_times() -> None:
    given = session()
    steps = follow(consume(given), given, polling(after=False))
    assert sum(step.name == "poll" and step.phase == "main" for step in steps) == POLLS_MAX
    assert given.is_usable is False
    given = session(polls_max=2)
    steps = follow(consume(given), given, polling())
    assert sum(step.name == "poll" and step.phase == "main" for step in steps) == 2


def test_a_group_commits_what_it_has_read_and_leaves() -> None:
    given = session()
    steps = follow(group(given), given, polling([0, 1], [2]))
    main = ["consumer", "poll", "poll", "commit"]
    assert names(steps) == [*main, "heal", "poll afterwards", "close close"]
    assert steps[0].arguments["settings"]["group"] == "billing"


def test_a_group_may_commit_each_poll_pause_and_not_leave() -> None:
    given = session(commit_each=True, commit=False, leave=False, pause_ms=5)
    steps = follow(group(given), given, polling([0, 1], [2]))
    main = ["consumer", "poll", "commit", "poll", "commit", "sleep"]
    assert names(steps) == [*main, "heal", "poll afterwards"]


def test_a_second_member_joins_reads_and_leaves() -> None:
    looks = iter([1, 2])
    polls = polling([0, 1, 2])

    def answer(step: Step) -> Reply | None:
        if step.name == LOOK:
            return Reply(0, "done", {"members": next(looks), "state": "Stable"})
        if step.name == "poll" and step.arguments["consumer"] == "d" and WRITE in seen:
            return Reply(0, "done", {"records": [record(3, REBALANCED)]})
        seen.append(step.name)
        return polls(step)

    seen: list[str] = []
    given = session(instance_id="one")
    steps = follow(rebalance(given), given, answer)
    assert names(steps) == [
        "consumer",
        "poll",
        "commit",
        "consumer",
        *["poll", "poll", "look"] * 2,
        "write",
        "poll",
        "poll",
        "close close",
        "heal",
        "poll afterwards",
        "close close",
    ]
    assert steps[3].arguments["settings"]["instance_id"] == "one-2"


def test_a_share_consumer_acknowledges_each_record() -> None:
    given = session(acknowledge="release")
    steps = follow(share(given), given, polling([0, 1, 2]))
    main = ["share_consumer", "poll", *["acknowledge"] * 3, "commit"]
    assert names(steps) == [*main, "heal", "poll afterwards", "close close"]
    assert steps[2].arguments["type"] == "release"


def test_polls_that_fail_go_on() -> None:
    given = session(polls_max=3)
    steps = follow(consume(given), given, failing("poll"))
    assert names(steps).count("poll") == 3
    assert given.is_usable is False


def test_an_application_of_streams_copies_and_stays_in_its_group() -> None:
    session = Session({"pause_ms": 200, "auto_commit": True}, {"orders": 1}, {"orders": 3})
    steps = follow(streams(session), session)
    after = ["heal", "process afterwards", "close close"]
    assert names(steps) == ["streams", "process", "sleep", *after]
    assert steps[0].arguments["output"] == "invoices"
    settings = steps[0].arguments["settings"]
    assert (settings["group"], "auto_commit" in settings) == ("billing", False)
    assert [step.arguments["records"] for step in steps if step.name == "process"] == [3, 4]
    assert session.is_usable
