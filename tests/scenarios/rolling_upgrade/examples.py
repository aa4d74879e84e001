"""Results of a rolling upgrade, for the tests of what shows them."""

from scenarios.rolling_upgrade.upgrade import (
    Stage,
    Written,
)
from scenarios.rolling_upgrade.writers import Ours

STAGES = [Stage("classic", 0, 100), Stage("phase 1", 100, 200), Stage("phase 2", 200, 300)]
GOOD = Written(
    Ours.name,
    sent=3,
    acknowledged_ms={0: 10, 1: 110, 2: 210},
    failed={},
    stored=[0, 1, 2],
    requests=4,
    in_flight=[(50, 5), (150, 4), (250, 9)],
)
