"""The limit of open files decides how many connections there are."""

import resource
import sys

import pytest

from broker.server import open_files


class Limits:
    """Limits of open files that behave as those of a system."""

    RLIMIT_NOFILE = resource.RLIMIT_NOFILE
    RLIM_INFINITY = resource.RLIM_INFINITY

    def __init__(self, soft: int, hard: int, most: int | None = None) -> None:
        self.soft, self.hard, self._most = soft, hard, most

    def getrlimit(self, _kind: int) -> tuple[int, int]:
        return self.soft, self.hard

    def setrlimit(self, _kind: int, limits: tuple[int, int]) -> None:
        if self._most is not None and not 0 <= limits[0] <= self._most:
            raise ValueError("current limit exceeds maximum limit")
        self.soft, self.hard = limits


@pytest.mark.parametrize(
    ("limits", "raised"),
    [
        (Limits(1024, 4096), 4096),
        (Limits(4096, 4096), 4096),
        (Limits(1024, Limits.RLIM_INFINITY), Limits.RLIM_INFINITY),
        # macOS
        (Limits(256, Limits.RLIM_INFINITY, most=10_240), 10_240),
        (Limits(20_000, Limits.RLIM_INFINITY, most=20_000), 20_000),
    ],
)
def test_the_limit_is_raised_as_far_as_the_system_allows(
    limits: Limits, raised: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "resource", limits)
    hard = limits.hard
    open_files.raise_file_limit()
    assert (limits.soft, limits.hard) == (raised, hard)


def test_clients_get_what_the_admin_port_and_open_files_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_files, "resource", Limits(65_536, 65_536))
    assert open_files.max_admin_connections() == 4096
    assert 60_000 < open_files.max_connections() < 65_536 - 4096


@pytest.mark.parametrize("limits", [None, Limits(Limits.RLIM_INFINITY, Limits.RLIM_INFINITY)])
def test_without_a_limit_there_is_room_for_everybody(
    limits: Limits | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "resource", limits)
    open_files.raise_file_limit()
    assert open_files.max_connections() > sys.maxsize // 2


def test_a_limit_without_room_for_a_client_says_how_much_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_files, "resource", Limits(24, 24))
    with pytest.raises(OSError, match=r"open files is 24, .* needs \d+ at least: .* `ulimit -n"):
        open_files.max_connections()
