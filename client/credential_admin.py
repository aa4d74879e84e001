"""The part of the admin client for SCRAM credentials of users (KIP-554)."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from client.errors import ApiError, error_of
from client.group_admin import ResponseT
from client.resources import Address, ScramUpsertion
from client.sasl import salted_password
from protocol import messages
from protocol.errors import ErrorCode

MECHANISM_CODES = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""The numbers of Kafka's `ScramMechanism`."""

_MECHANISMS = {code: name for name, code in MECHANISM_CODES.items()}
SALT_BYTES = 24


class CredentialAdmin(ABC):
    """The methods of `Admin` for SCRAM credentials."""

    @abstractmethod
    def _ask(
        self, request: "messages.Request[ResponseT]", address: Address | None = None
    ) -> ResponseT: ...

    def describe_user_scram_credentials(
        self, users: Iterable[str] = ()
    ) -> dict[str, dict[str, int] | ApiError]:
        """Return the iterations by mechanism of users, or of all; users without are left out."""
        request = messages.DescribeUserScramCredentialsRequest(
            users=[messages.DescribeUserScramCredentialsRequest.UserName(name=u) for u in users]
        )
        response = self._ask(request)
        error = error_of(response.error_code, response.error_message)
        if error is not None:
            raise error
        return {
            result.user: error_of(result.error_code, result.error_message)
            or {_MECHANISMS[info.mechanism]: info.iterations for info in result.credential_infos}
            for result in response.results
            if result.error_code != ErrorCode.RESOURCE_NOT_FOUND
        }

    def alter_user_scram_credentials(
        self, upsertions: Sequence[ScramUpsertion], deletions: Iterable[tuple[str, str]] = ()
    ) -> dict[str, ApiError | None]:
        """Set credentials, and delete those of (user, mechanism); return the outcomes by user.

        A password is not sent: the broker gets a random salt and the salted password.
        """
        request_class = messages.AlterUserScramCredentialsRequest
        salts = [secrets.token_bytes(SALT_BYTES) for _ in upsertions]
        request = request_class(
            deletions=[
                request_class.ScramCredentialDeletion(
                    name=user, mechanism=MECHANISM_CODES[mechanism]
                )
                for user, mechanism in deletions
            ],
            upsertions=[
                request_class.ScramCredentialUpsertion(
                    name=change.user,
                    mechanism=MECHANISM_CODES[change.mechanism],
                    iterations=change.iterations,
                    salt=salt,
                    salted_password=salted_password(
                        change.mechanism, change.password.encode(), salt, change.iterations
                    ),
                )
                for change, salt in zip(upsertions, salts, strict=True)
            ],
        )
        return {
            result.user: error_of(result.error_code, result.error_message)
            for result in self._ask(request).results
        }
