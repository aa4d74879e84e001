from pathlib import Path

from scenarios.rolling_upgrade.timeline import draw
from scenarios.rolling_upgrade.upgrade import BROKERS, Outage, Upgrade
from tests.scenarios.rolling_upgrade.examples import GOOD, STAGES


def test_a_picture_has_brokers_in_their_phases_and_each_client(tmp_path: Path) -> None:
    outages = [Outage(broker, at, at + 10) for at in (110, 210) for broker in BROKERS]
    path = draw(Upgrade(STAGES, outages, [GOOD]), tmp_path)

    assert path == tmp_path / "rolling-upgrade.svg"
    text = path.read_text()
    for words in ("broker 1", "broker 3", "classic", "phase 1", "phase 2", "ours", "in flight"):
        assert f"<!-- {words} -->" in text
