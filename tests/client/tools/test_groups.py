"""`mock-kafka groups` with a cluster: arguments, output and effects."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.admin import Admin
from client.errors import ApiError
from client.resources import NewTopic, PartitionOffset
from client.tools import groups
from mock_kafka import MockKafka
from tests.client.running_cluster import admin_without_groups, running_cluster
from tests.client.streams_member import CHANGELOG, StreamsMember


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[MockKafka]:
    with running_cluster() as kafka:
        yield kafka


class Tool:
    """The tool, and an admin client of the same cluster."""

    def __init__(self, admin: Admin, servers: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.admin = admin
        self._servers = servers
        self._capsys = capsys
        self.errors = ""

    def __call__(self, words: str) -> list[list[str]]:
        """Run the tool, which must succeed; return the words of each line."""
        self._capsys.readouterr()
        status = groups.main(["--bootstrap-server", self._servers, *words.split()])
        captured = self._capsys.readouterr()
        self.errors = captured.err
        assert status == 0, captured.err
        return [line.split() for line in captured.out.splitlines() if line]

    def refused(self, words: str) -> str:
        self._capsys.readouterr()
        assert groups.main(["--bootstrap-server", self._servers, *words.split()]) == 1
        return self._capsys.readouterr().err.removeprefix(groups.ERROR_PREFIX).rstrip()


@pytest.fixture
def run(shared_cluster: MockKafka, capsys: pytest.CaptureFixture[str]) -> Iterator[Tool]:
    """A cluster with the group g, whose offsets are 1 in partitions 0 and 1 of topic t."""
    with admin_without_groups(shared_cluster) as admin:
        admin.alter_group_offsets("g", {("t", 0): PartitionOffset(1), ("t", 1): PartitionOffset(1)})
        yield Tool(admin, shared_cluster.bootstrap_servers, capsys)


def test_groups_are_listed_by_state_and_type(run: Tool) -> None:
    assert run("--list") == [["g"]]
    assert run("--list --state --type") == [["GROUP", "TYPE", "STATE"], ["g", "Classic", "Empty"]]
    assert run("--list --state empty,stable --type Classic")[1:] == [["g", "Classic", "Empty"]]
    assert run("--list --state Stable")[1:] == run("--list --type share,consumer")[1:] == []
    assert run.refused("--list --type other") == (
        "--type other: valid are classic, consumer, share, streams"
    )


def test_a_group_is_described_with_offsets_members_and_state(run: Tool) -> None:
    rows = run("--describe --group g")
    assert [row[1:6] for row in rows[1:]] == [["t", "0", "1", "3", "2"], ["t", "1", "1", "3", "2"]]
    assert run.errors == "\nConsumer group 'g' has no active members.\n"
    assert run("--describe --all-groups --state")[1][-2:] == ["Empty", "0"]
    assert len(run("--describe --group g --members")) == 1
    assert run.refused("--describe --group missing") == "Group missing not found."


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--topic t --to-earliest", [0, 0, 0]),
        ("--topic t --to-latest", [3, 3, 3]),
        ("--topic t --to-current", [1, 1, 3]),
        ("--topic t:0,2 --to-offset 2", [2, 1, 2]),
        ("--topic t:1 --to-offset 99", [1, 3, None]),
        ("--all-topics --shift-by 1", [2, 2, None]),
        ("--all-topics --shift-by -9", [0, 0, None]),
        ("--topic t --to-datetime 1970-01-01T00:00:01.500", [1, 1, 1]),
        ("--topic t --to-datetime 2100-01-01T00:00:00Z", [3, 3, 3]),
        ("--topic t --by-duration P1D", [3, 3, 3]),
        ("--topic t --by-duration P30000D", [0, 0, 0]),
    ],
)
def test_offsets_are_reset_only_with_execute(
    run: Tool, words: str, expected: list[int | None]
) -> None:
    def offsets() -> list[int | None]:
        found = run.admin.group_offsets("g")
        return [found[key].offset if (key := ("t", i)) in found else None for i in range(3)]

    before = offsets()
    printed = run(f"--reset-offsets --group g {words}")
    assert offsets() == before
    assert run(f"--reset-offsets --group g {words} --execute") == printed
    assert offsets() == expected
    assert {row[1] for row in printed[1:]} == {"t"}


def test_an_offset_outside_of_the_log_is_moved_with_a_warning(run: Tool) -> None:
    run("--reset-offsets --group g --topic t:0 --to-offset 99")
    assert run.errors == "Offset 99 is not in partition t-0: taking 3.\n"


def test_new_offsets_are_exported_as_csv(run: Tool) -> None:
    assert run("--reset-offsets --group g --topic t:0 --to-latest --export") == [["t,0,3"]]
    assert run("--reset-offsets --all-groups --topic t:0 --to-latest --export") == [["g,t,0,3"]]


def test_offsets_are_reset_to_those_of_an_exported_file(run: Tool, tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    for groups_in_file, lines in (("--group g", "t,0,2\nt,2,0\n"), ("--all-groups", "g,t,0,1\n")):
        plan.write_text(lines)
        reset = f"--reset-offsets {groups_in_file} --from-file {plan}"
        exported = run(f"{reset} --export")
        assert sorted(exported) == sorted([line] for line in lines.splitlines())
        run(f"{reset} --execute")
    offsets = {key: found.offset for key, found in run.admin.group_offsets("g").items()}
    assert offsets == {("t", 0): 1, ("t", 1): 1, ("t", 2): 0}


def test_a_group_that_is_not_in_the_file_keeps_its_offsets(run: Tool, tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("other,t,0,2\n")
    run(f"--reset-offsets --group g --from-file {plan} --execute")
    assert run.errors == "No reset plan for group g found.\n"
    assert run.admin.group_offsets("g")["t", 0].offset == 1


def test_an_expression_is_validated_without_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert [groups.main(["--validate-regex", regex]) for regex in ("a.*|b", "[a")] == [0, 0]
    assert capsys.readouterr().out.splitlines() == [
        "The regular expression `a.*|b` is valid.",
        "The regular expression `[a` is invalid: missing closing ].",
    ]


def test_an_operation_ends_with_the_timeout(run: Tool, shared_cluster: MockKafka) -> None:
    shared_cluster.add_fault(api="ListGroups", error="COORDINATOR_LOAD_IN_PROGRESS")
    try:
        began_s = time.monotonic()
        assert "COORDINATOR_LOAD_IN_PROGRESS" in run.refused("--list --timeout 200")
        assert time.monotonic() - began_s < 10
    finally:
        shared_cluster.clear_faults()


def test_a_group_that_does_not_exist_gets_offsets(run: Tool) -> None:
    run("--reset-offsets --group new --topic t --to-earliest --execute")
    assert run("--list") == [["g"], ["new"]]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("--topic gone --to-earliest", "topic gone: UNKNOWN_TOPIC_OR_PARTITION"),
        ("--topic t:9 --to-earliest", "partition t-9: UNKNOWN_TOPIC_OR_PARTITION"),
        ("--topic t:x --to-earliest", "--topic t:x: expected TOPIC or TOPIC:0,1,2"),
        (
            "--topic t --shift-by 1",
            "Cannot shift offset for partition t-2 since there is no current committed offset",
        ),
        ("--topic t --by-duration 1D", "--by-duration 1D: expected PnDTnHnMnS, such as P1DT12H"),
    ],
)
def test_a_reset_that_is_impossible_is_an_error(run: Tool, words: str, error: str) -> None:
    assert run.refused(f"--reset-offsets --group g {words} --execute") == error


def test_offsets_and_groups_are_deleted(run: Tool) -> None:
    assert run("--delete-offsets --group g --topic t:0") == [
        ["Request", "succeeded", "for", "deleting", "offsets", "from", "group", "g."],
        ["TOPIC", "PARTITION", "STATUS"],
        ["t", "0", "Successful"],
    ]
    assert list(run.admin.group_offsets("g")) == [("t", 1)]
    assert run.refused("--delete-offsets --group g --topic t:9") == "UNKNOWN_TOPIC_OR_PARTITION"
    deleted = "Deletion of requested consumer groups ('g') was successful."
    assert run("--delete --group g") == [deleted.split()]
    assert run.refused("--delete --group g") == (
        "Group 'g' could not be deleted due to: GROUP_ID_NOT_FOUND"
    )
    with pytest.raises(ApiError):
        run.admin.delete_group_offsets("g", [("t", 0)])


@pytest.fixture(scope="module")
def newest_cluster() -> Iterator[MockKafka]:
    with running_cluster({"broker.api.versions": "4.4"}) as kafka:
        yield kafka


@pytest.fixture
def run_newest(newest_cluster: MockKafka, capsys: pytest.CaptureFixture[str]) -> Iterator[Tool]:
    """A cluster of Kafka 4.4 without groups."""
    with admin_without_groups(newest_cluster) as admin:
        yield Tool(admin, newest_cluster.bootstrap_servers, capsys)


def test_a_streams_group_is_listed_and_described_with_its_process_and_tasks(
    run_newest: Tool,
) -> None:
    member = StreamsMember(run_newest.admin, "s")
    assert run_newest("--list --type streams --state stable")[1:] == [["s", "Streams", "Stable"]]
    assert run_newest("--describe --group s")[1:] == [["s", "t", str(i), "3"] for i in range(3)]
    (row,) = run_newest("--describe --group s --members")[1:]
    assert row[1:] == ["m", "p", "mock-kafka", "ACTIVE:", "0:[0,1,2];"]
    assert run_newest("--describe --group s --state")[1][-3:] == ["sticky", "Stable", "1"]
    member.leave()
    assert run_newest("--describe --group s") == []
    assert run_newest.errors == "\nStreams group 's' has no active members.\n"


def test_a_streams_group_is_not_ready_without_its_source_topic(run_newest: Tool) -> None:
    member = StreamsMember(run_newest.admin, "s", source="missing")
    assert run_newest("--list --state NotReady --type")[1:] == [["s", "Streams", "NotReady"]]
    assert run_newest.refused("--reset-offsets --group s --topic t --to-latest") == (
        "Assignments can only be reset if the group 's' is inactive, but the current state is"
        " NotReady."
    )
    member.leave()


def test_only_offsets_that_a_streams_group_has_are_reset(run_newest: Tool) -> None:
    StreamsMember(run_newest.admin, "s").leave()
    committed = dict.fromkeys([("t", 0), ("t", 2), (CHANGELOG, 0)], PartitionOffset(0))
    run_newest.admin.alter_group_offsets("s", committed)
    assert run_newest("--reset-offsets --group s --all-input-topics --to-latest --execute")[1:] == [
        ["s", "t", "0", "3"],
        ["s", "t", "2", "3"],
    ]
    assert run_newest("--reset-offsets --group s --input-topic t:2 --to-offset 1")[1:] == [
        ["s", "t", "2", "1"]
    ]
    assert run_newest.refused("--reset-offsets --group s --topic t --to-latest --execute") == (
        "One or more topics are not part of the group 's'."
    )
    assert run_newest("--delete-offsets --group s --topic t:0")[-1] == ["t", "0", "Successful"]
    deleted = "Deletion of requested streams groups ('s') was successful."
    assert run_newest("--delete --group s") == [deleted.split()]


def test_a_streams_group_without_a_topology_is_refused(run_newest: Tool) -> None:
    member = StreamsMember(run_newest.admin, "s")
    assert run_newest.refused("--describe --group s --topology") == (
        "No topology description is stored for streams group 's'."
    )
    member.leave()


def test_a_streams_group_is_deleted_with_its_internal_topics(run_newest: Tool) -> None:
    StreamsMember(run_newest.admin, "s").leave()
    StreamsMember(run_newest.admin, "s2", changelog="no-internal-name").leave()
    printed = run_newest("--delete --all-groups --delete-all-internal-topics")
    text = [" ".join(words) for words in printed]
    assert text == [
        "Deletion of requested streams groups ('s', 's2') was successful.",
        "Deletion of associated internal topics of the streams groups ('s') was successful.",
    ]
    assert run_newest.errors == (
        "The internal topic 'no-internal-name' is not inferred as internal and thus will not be"
        " deleted with the group 's2'.\n"
    )
    names = run_newest.admin.list_topics()
    assert CHANGELOG not in names
    assert {"t", "no-internal-name"} <= set(names)


def test_internal_topics_are_deleted_after_a_reset(run_newest: Tool) -> None:
    StreamsMember(run_newest.admin, "s").leave()
    run_newest.admin.alter_group_offsets("s", {("t", 0): PartitionOffset(0)})
    reset = "--reset-offsets --group s --topic t:0 --to-latest --execute"
    rows = [["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"], ["s", "t", "0", "3"]]
    assert run_newest(f"{reset} --delete-all-internal-topics") == rows
    assert CHANGELOG not in run_newest.admin.list_topics()
    assert run_newest.refused(f"{reset} --delete-internal-topic {CHANGELOG}") == (
        "Deleting internal topics for group 's' failed because the topics do not exist."
    )
    run_newest.admin.create_topics([NewTopic("s-other-changelog", 1)])
    assert run_newest(f"{reset} --delete-internal-topic s-other-changelog") == rows
    assert "s-other-changelog" not in run_newest.admin.list_topics()


def test_topics_that_cannot_be_deleted_with_their_group_are_named(run_newest: Tool) -> None:
    StreamsMember(run_newest.admin, "s").leave()
    run_newest.admin.delete_topics([CHANGELOG])
    printed = run_newest("--delete --group s --delete-all-internal-topics")
    assert [" ".join(words) for words in printed][1:3] == [
        f"Failed to delete internal topic: {CHANGELOG}",
        "Deletion of some associated internal topics failed:",
    ]


@pytest.mark.parametrize(
    "words",
    [
        "--describe",
        "--describe --group s --delete-all-internal-topics",
        "--reset-offsets --group s --topic t --to-latest --delete-all-internal-topics",
        "--delete --group s --delete-internal-topic t",
        "--describe --group g --all-groups",
        "--describe --group g --members --state",
        "--describe --group g --topology --state",
        "--delete-offsets --group g",
        "--delete-offsets --group g --group h --topic t",
        "--reset-offsets --group g --topic t",
        "--reset-offsets --group g --to-earliest",
        "--reset-offsets --group g --topic t --all-topics --to-earliest",
        "--reset-offsets --group g --topic t --to-earliest --to-latest",
        "--reset-offsets --group g --topic t --to-earliest --dry-run --execute",
        "--list --delete",
        "--list --timeout soon",
        "--list --validate-regex a",
    ],
)
def test_invalid_arguments_are_refused_before_a_connection(words: str) -> None:
    with pytest.raises(SystemExit) as caught:
        groups.main(["--bootstrap-server", "127.0.0.1:1", *words.split()])
    assert caught.value.code == 2
