"""What a rule of the error matrix has: `scripts.atlas_error_matrix` is the matrix."""

from typing import Any, NamedTuple

RETRY = "retry"
FAIL = "fail"
ABORT = "abort"
FENCE = "fence"
REJOIN = "rejoin"
NEW_SESSION = "new session"
GO_ON = "go on"


class Rules(NamedTuple):
    """The errors of an API, by the reaction that they need.

    `handler` is the class of Kafka's Java client that decides, below `clients/`. `is_also_for_ever`
    has the reactions for which the situation that never ends is worth a file. `also` has APIs that
    get the same rule, for clients that use an older one. `before` are rules that bring the client
    to the request.
    """

    api: str
    area: str
    workload: str
    errors: dict[str, str]
    handler: str = ""
    arguments: dict[str, Any] = {}  # noqa: RUF012 - never changed
    records: int = 0
    is_also_for_ever: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    before: tuple[dict[str, Any], ...] = ()
    cluster: dict[str, Any] = {}  # noqa: RUF012 - never changed
    suffix: str = ""
