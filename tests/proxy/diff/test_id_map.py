"""Which id of our broker stands for one of the real cluster."""

from proxy.diff.id_map import IdMap


def test_an_id_without_a_pair_stands_for_itself() -> None:
    ids = IdMap()
    assert ids.ours("member_id", "a") == "a"
    assert ids.known_ours("member_id", "a") is None


def test_a_pair_is_found_from_both_sides() -> None:
    ids = IdMap()
    ids.pair("member_id", "a", "b")
    assert (ids.ours("member_id", "a"), ids.known_real("member_id", "b")) == ("b", "a")
    assert ids.ours("topic_id", "a") == "a"


def test_a_number_without_a_pair_is_as_far_from_the_latest_one() -> None:
    ids = IdMap()
    ids.pair("producer_epoch", 7, 2, scope=1)
    assert ids.ours("producer_epoch", 8, 1) == 3
    assert ids.ours("producer_epoch", 8, 2) == 8
