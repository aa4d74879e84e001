"""Change SCRAM credentials, with Kafka's checks and errors.

Source: Kafka's `ScramControlManager` and KIP-554.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from broker.errors import Refusal
from broker.security.credentials import Credentials
from broker.security.sasl import SCRAM_SHA_256, SCRAM_SHA_512
from broker.security.scram import ITERATIONS_MAX, ITERATIONS_MIN, credential_of_salted
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, string_hash
from protocol.pacing import may_pause, paced

MECHANISMS_BY_CODE = {1: SCRAM_SHA_256, 2: SCRAM_SHA_512}
"""Kafka's `ScramMechanism` numbers."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """A credential to delete."""

    name: str
    mechanism_code: int


@dataclass(frozen=True, slots=True)
class Upsertion:
    """A credential to set, of a password that the client has salted."""

    name: str
    mechanism_code: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"Upsertion({self.name!r})"


Alteration = Deletion | Upsertion

ALTERED_TWICE = Refusal(
    ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
)

EMPTY_KEY = Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)
"""Java computes no HMAC with an empty key: `ScramControlManager.finishUpsertion` catches that."""


@may_pause
def alter_credentials(
    credentials: Credentials, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]
) -> dict[str, Refusal | None]:
    """Apply valid alterations; return a refusal for each user, or None on success.

    A user may occur once, whatever the mechanism: of several alterations none is applied. Other
    users are not affected. The users whose credentials were deleted come first, then those whose
    credentials were set, then those that are refused, each in the order of Kafka's hash maps.
    """
    alterations: list[Alteration] = [*deletions, *upsertions]
    accepted: dict[str, Alteration] = {}
    refused: dict[str, Refusal] = {}
    for alteration in paced(alterations):
        name = alteration.name
        if name in refused:
            continue
        is_second = accepted.pop(name, None) is not None
        refusal = ALTERED_TWICE if is_second else _check(credentials, alteration)
        if refusal is None:
            accepted[name] = alteration
        else:
            refused[name] = refusal
    for name, alteration in paced(accepted.items()):
        if isinstance(alteration, Upsertion) and not alteration.salted_password:
            del accepted[name]
            refused[name] = EMPTY_KEY
    for alteration in paced(accepted.values()):
        _apply(credentials, alteration)
    deleted: list[str] = []
    upserted: list[str] = []
    for name, alteration in paced(accepted.items()):
        (deleted if isinstance(alteration, Deletion) else upserted).append(name)
    return {
        name: refused.get(name)
        for names in (deleted, upserted, list(refused))
        for name in in_hash_order(names, string_hash)
    }


def _check(credentials: Credentials, alteration: Alteration) -> Refusal | None:
    if not alteration.name:
        return Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    mechanism = MECHANISMS_BY_CODE.get(alteration.mechanism_code)
    if mechanism is None:
        return Refusal(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(alteration, Deletion):
        if credentials.scram_iterations(alteration.name, mechanism) is None:
            message = "Attempt to delete a user credential that does not exist"
            return Refusal(ErrorCode.RESOURCE_NOT_FOUND, message)
        return None
    if alteration.iterations > ITERATIONS_MAX:
        return Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if alteration.iterations < ITERATIONS_MIN:
        return Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    return None


def _apply(credentials: Credentials, alteration: Alteration) -> None:
    mechanism = MECHANISMS_BY_CODE[alteration.mechanism_code]
    if isinstance(alteration, Deletion):
        # Another request may have deleted it since the check.
        if credentials.scram_iterations(alteration.name, mechanism) is not None:
            credentials.delete_scram(alteration.name, mechanism)
        return
    credential = credential_of_salted(
        mechanism, alteration.salted_password, alteration.salt, alteration.iterations
    )
    credentials.set_scram(alteration.name, mechanism, credential)
