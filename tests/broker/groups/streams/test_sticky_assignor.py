"""The sticky assignor."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.groups.streams.configured_topology import ConfiguredSubtopology, ConfiguredTopic
from broker.groups.streams.member import StreamsMember
from broker.groups.streams.sticky_assignor import TaskOffsets, assign_stickily
from broker.groups.streams.tasks import OwnedTasks, TargetTasks, TaskId, ids_of
from tests.broker.groups.streams.driver import renamed
from tests.examples import examples


def subtopology(task_count: int, *, is_stateful: bool = False) -> ConfiguredSubtopology:
    store = ConfiguredTopic("store", task_count, None, {})
    return ConfiguredSubtopology(
        task_count, frozenset({"t"}), frozenset(), {}, {"store": store} if is_stateful else {}
    )


def member(process_id: str, had: TargetTasks | None = None) -> StreamsMember:
    owned = OwnedTasks()
    if had is not None:
        epochs = {name: dict.fromkeys(indexes, 1) for name, indexes in had.active.items()}
        owned = OwnedTasks(epochs, had.standby)
    return StreamsMember("", process_id=process_id, assigned=owned)


def test_tasks_are_shared_by_processes_and_then_by_their_members() -> None:
    members = {"a1": member("a"), "a2": member("a"), "b1": member("b")}
    targets = assign_stickily(members, {"0": subtopology(6)}, {}, 0)
    assert {name: len(found.active["0"]) for name, found in targets.items()} == {
        "a1": 2,
        "a2": 2,
        "b1": 2,
    }


def test_a_task_stays_with_its_member_while_that_has_room() -> None:
    had = TargetTasks(renamed({"0": [1, 3]}))
    members = {"a": member("a"), "b": member("b", had)}
    targets = assign_stickily(members, {"0": subtopology(4)}, {}, 0)
    assert targets["b"].active == {"0": {1, 3}}
    assert targets["a"].active == {"0": {0, 2}}


def test_a_task_goes_to_the_member_that_had_its_standby_task() -> None:
    had = TargetTasks(standby=renamed({"0": [1]}))
    members = {"a": member("a"), "b": member("b", had)}
    targets = assign_stickily(members, {"0": subtopology(2, is_stateful=True)}, {}, 0)
    assert targets["b"].active == {"0": {1}}


def test_of_members_with_the_state_of_a_task_the_one_that_is_further_gets_it() -> None:
    offsets: dict[str, TaskOffsets] = {"a": {("0", 0): 10}, "b": {("0", 0): 20}}
    members = {"a": member("a"), "b": member("b")}
    targets = assign_stickily(members, {"0": subtopology(2, is_stateful=True)}, offsets, 0)
    assert targets["b"].active == {"0": {0}}


def test_standby_tasks_are_on_other_processes() -> None:
    members = {"a": member("a"), "b": member("b")}
    targets = assign_stickily(members, {"0": subtopology(2, is_stateful=True)}, {}, 1)
    assert targets["a"].standby == targets["b"].active
    assert targets["b"].standby == targets["a"].active


def test_tasks_without_state_have_no_standby_tasks() -> None:
    members = {"a": member("a"), "b": member("b")}
    targets = assign_stickily(members, {"0": subtopology(2)}, {}, 1)
    assert all(not found.standby for found in targets.values())


def test_one_process_cannot_have_standby_tasks() -> None:
    members = {"a1": member("a"), "a2": member("a")}
    targets = assign_stickily(members, {"0": subtopology(2, is_stateful=True)}, {}, 2)
    assert all(not found.standby for found in targets.values())


def test_a_group_without_members_has_no_targets() -> None:
    assert assign_stickily({}, {}, {}, 1) == {}


@settings(max_examples=examples(40))
@given(
    processes=st.lists(st.sampled_from("abc"), min_size=1, max_size=5),
    task_counts=st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=3),
    standby_replicas=st.integers(0, 2),
    leaver=st.integers(0, 4),
)
def test_each_task_is_active_once_and_never_twice_on_a_process(
    processes: list[str], task_counts: list[tuple[int, bool]], standby_replicas: int, leaver: int
) -> None:
    subtopologies = {
        str(number): subtopology(count, is_stateful=is_stateful)
        for number, (count, is_stateful) in enumerate(task_counts)
    }
    members = {f"m{number}": member(process) for number, process in enumerate(processes)}
    for _ in range(2):
        targets = assign_stickily(members, subtopologies, {}, standby_replicas)
        _check(members, targets, subtopologies, standby_replicas)
        members = {
            name: member(found.process_id, targets[name])
            for number, (name, found) in enumerate(members.items())
            if number != leaver or len(members) == 1
        }


def _check(
    members: dict[str, StreamsMember],
    targets: dict[str, TargetTasks],
    subtopologies: dict[str, ConfiguredSubtopology],
    standby_replicas: int,
) -> None:
    expected = {
        (name, index) for name, found in subtopologies.items() for index in range(found.task_count)
    }
    active: Counter[TaskId] = Counter()
    standby: Counter[TaskId] = Counter()
    on_process: Counter[tuple[str, TaskId]] = Counter()
    for name, target in targets.items():
        active.update(ids_of(target.active))
        standby.update(ids_of(target.standby))
        on_process.update(
            (members[name].process_id, task)
            for task in (*ids_of(target.active), *ids_of(target.standby))
        )
    assert set(active) == expected
    assert set(active.values()) == {1}
    assert set(on_process.values()) == {1}
    process_count = len({found.process_id for found in members.values()})
    copies = min(standby_replicas, process_count - 1)
    stateful = {task for task in expected if subtopologies[task[0]].is_stateful}
    assert standby == Counter(dict.fromkeys(stateful, copies) if copies else {})
    counts = [sum(map(len, target.active.values())) for target in targets.values()]
    assert process_count > 1 or max(counts) - min(counts) <= 1
