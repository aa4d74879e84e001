"""Change SCRAM credentials, with Kafka's checks and errors.

Source: Kafka's `ScramControlManager` and KIP-554.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from broker.errors import Refusal
from broker.security.credentials import Credentials
from broker.security.sasl import SCRAM_SHA_256, SCRAM_SHA_512
from broker.security.scram import ITERATIONS_MAX, ITERATIONS_MIN, credential_of_salted
from protocol.errors import ErrorCode

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


def alter_credentials(
    credentials: Credentials, alterations: Sequence[Alteration]
) -> dict[str, Refusal | None]:
    """Apply valid alterations; return a refusal for each user, or None on success.

    Users are in the order in which they first occur. If one alteration of a user is refused, none
    of this user is applied. Other users are not affected.
    """
    counts = Counter((alteration.name, alteration.mechanism_code) for alteration in alterations)
    results: dict[str, Refusal | None] = {}
    for alteration in alterations:
        refusal = _check(credentials, alteration)
        if refusal is None and counts[alteration.name, alteration.mechanism_code] > 1:
            refusal = Refusal(
                ErrorCode.DUPLICATE_RESOURCE,
                "A user credential cannot be altered twice in the same request",
            )
        results[alteration.name] = results.get(alteration.name) or refusal
    for alteration in alterations:
        if results[alteration.name] is None:
            _apply(credentials, alteration)
    return results


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
    if not alteration.salt or not alteration.salted_password:
        return Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Salt and password must not be empty")
    return None


def _apply(credentials: Credentials, alteration: Alteration) -> None:
    mechanism = MECHANISMS_BY_CODE[alteration.mechanism_code]
    if isinstance(alteration, Deletion):
        credentials.delete_scram(alteration.name, mechanism)
        return
    credential = credential_of_salted(
        mechanism, alteration.salted_password, alteration.salt, alteration.iterations
    )
    credentials.set_scram(alteration.name, mechanism, credential)
