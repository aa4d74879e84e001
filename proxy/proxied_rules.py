"""Which fault rules a proxy can carry out: those on requests, responses and connections."""

from typing import TYPE_CHECKING

from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from broker.faults.rule import FaultRule

_WHY = "this is a proxy: it has no {0}; the cluster behind it has"


def check_proxied(rule: "FaultRule") -> None:
    """Check that a rule changes nothing that only the cluster behind the proxy has.

    Raises:
        ValueError: it does; the message names the field.
    """
    from broker.faults.actions import (  # noqa: PLC0415 - see ADR 24
        ChangeRecords,
        DisturbMembers,
        FenceBroker,
        IsolateBroker,
        MoveCoordinator,
        MoveLeader,
        SetApiVersions,
        StaleMetadata,
        StopBroker,
        field_name_of,
    )

    reasons = {
        MoveLeader: "leaders",
        MoveCoordinator: "coordinators",
        FenceBroker: "controller",
        SetApiVersions: "APIs",
        DisturbMembers: "groups",
        StaleMetadata: "metadata",
    }
    for action in rule.actions:
        name = field_name_of(action)
        if type(action) in reasons:
            raise ValueError(f"{name}: {_WHY.format(reasons[type(action)])}")
        if isinstance(action, ChangeRecords) and rule.match.api_key is ApiKey.PRODUCE:
            raise ValueError(f"{name}: {_WHY.format('log')}; with api Fetch it changes responses")
        if isinstance(action, StopBroker | IsolateBroker) and action.elect:
            raise ValueError(f"elect: {_WHY.format('controller')}")
