"""Responses of our broker with the ids of the real cluster."""

from proxy.diff.id_map import IdMap
from proxy.diff.response_ids import ResponseIds

NOW_MS = 1_700_000_000_000


def merged(real: object, ours: object, ids: IdMap | None = None, api: str = "JoinGroup") -> object:
    return ResponseIds(ids or IdMap(), api, {"group_id": "g"}, NOW_MS).with_real_ids(real, ours)


def test_ids_at_the_same_place_belong_together() -> None:
    ids = IdMap()
    assert merged({"member_id": "a"}, {"member_id": "b"}, ids) == {"member_id": "a"}
    assert ids.ours("member_id", "a") == "b"


def test_an_id_that_names_another_one_later_stays_and_differs() -> None:
    ids = IdMap()
    ids.pair("member_id", "a", "b")
    assert merged({"leader": "a"}, {"leader": "c"}, ids) == {"leader": "c"}
    assert merged({"leader": "a"}, {"leader": "b"}, ids) == {"leader": "a"}


def test_entries_with_new_ids_as_keys_are_partners() -> None:
    real, ours = ({"members": [{"member_id": one, "metadata": "m"}]} for one in ("a", "b"))
    assert merged(real, ours) == real


def test_a_time_near_now_is_the_same() -> None:
    real, ours = ({"timestamp": NOW_MS + shift} for shift in (3, 9))
    assert merged(real, ours) == real
    old = {"timestamp": 5}
    assert merged(real, old) == old


def test_a_producer_id_may_be_zero() -> None:
    ids = IdMap()
    assert merged({"producer_id": 2}, {"producer_id": 0}, ids) == {"producer_id": 2}
    assert merged({"producer_id": 2}, {"producer_id": -1}, ids) == {"producer_id": -1}
