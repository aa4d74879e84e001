"""What a run does with the adapter is tested in test_lane.py; here is how it splits the time."""

from atlas.run import Marks


def test_requests_belong_to_the_phase_in_which_they_came() -> None:
    marks = Marks(main=10, afterwards=15)
    assert [marks.phase_of(number) for number in (1, 10, 11, 15, 16)] == [
        "main",
        "main",
        "afterwards",
        "afterwards",
        "close",
    ]


def test_everything_is_the_main_phase_until_the_cluster_is_healed() -> None:
    assert Marks().phase_of(1_000) == "main"
    assert Marks(main=10).phase_of(1_000) == "afterwards"
