"""Every scenario by its name; a scenario is loaded when it is run."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import NamedTuple


class Scenario(NamedTuple):
    """A line for people, and the module whose `run(out: Path | None) -> int` does it.

    `module` is relative to this package.
    """

    help: str
    module: str


SCENARIOS = {
    "delivery-timeout": Scenario(
        "how long a record may stay without an outcome, in every phase (KIP-91)",
        "delivery_timeout",
    ),
    "restart-loop": Scenario(
        "clients that restart in a loop, without and with the quota (KIP-936)",
        "producer_ids.restart_loop",
    ),
    "producer-per-error": Scenario(
        "a new producer after every error, without and with the quota (KIP-936)",
        "producer_ids.producer_per_error",
    ),
    "producer-per-batch": Scenario(
        "a new producer for every batch, without and with the quota (KIP-936)",
        "producer_ids.producer_per_batch",
    ),
    "cascade": Scenario(
        "a broker goes, and its producer ids take the others along, or not (KIP-936)",
        "producer_ids.cascade",
    ),
    "controller-overload": Scenario(
        "elections behind a storm of topics, without and with the quota (KIP-599)",
        "controller_overload",
    ),
    "rolling-upgrade": Scenario(
        "brokers and producers go over to KIP-758 in its two phases, one at a time, under load",
        "rolling_upgrade",
    ),
    "steady-id": Scenario(
        "an id in steady use is never called new when the oldest layer goes (KIP-936)",
        "producer_ids.steady_id",
    ),
}


def load(name: str) -> ModuleType:
    """Import the module of a scenario.

    Raises:
        KeyError: there is no such scenario.
    """
    return importlib.import_module(f"{__package__}.{SCENARIOS[name].module}")


def run(name: str, out: Path | None) -> int:
    """Run a scenario, with pictures into the folder `out`; returns the exit status.

    Raises:
        KeyError: there is no such scenario.
        MissingLibraryError: it draws, and matplotlib isn't there.
    """
    status: int = load(name).run(out)
    return status
