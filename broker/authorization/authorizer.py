"""Kafka's StandardAuthorizer: what the access control lists of a cluster decide.

Sources: `org.apache.kafka.metadata.authorizer.StandardAuthorizerData` and `AclCache`, and
`org.apache.kafka.server.authorizer.Authorizer` for operations on any resource of a type.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from broker.authorization.acl import Acl, AclFilter
from broker.authorization.hosts import address_text, has_host
from protocol.acls import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)
from protocol.pacing import may_pause, paced

SUPER_USER = "SuperUser"
DEFAULT_ALLOW = "DefaultAllow"
DEFAULT_DENY = "DefaultDeny"

REMEMBERED_MAX = 10_000
"""How many decisions about resources are remembered, and how many about types."""
REMEMBERED_LENGTH_MAX = 255
"""The most characters of the principal and the resource of a remembered decision."""

_IMPLY_DESCRIBE = frozenset(
    {AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER}
)
_ANY_NAME = "hardcode"
"""The resource that Kafka asks about first for an operation on any resource of a type."""


class Decision(NamedTuple):
    """Whether an operation is allowed, and the rule that decided: an ACL, or a default's name."""

    is_allowed: bool
    rule: Acl | str


_AclsByPrincipal = dict[str, dict[Acl, None]]
_Question = tuple[str, str, AclOperation, ResourceType, str]
_TypeQuestion = tuple[str, str, AclOperation, ResourceType]
_AnyQuestion = TypeVar("_AnyQuestion", _Question, _TypeQuestion)
_Answer = TypeVar("_Answer")


class Authorizer:
    """The access control lists of a cluster, and its super users."""

    def __init__(
        self, super_users: frozenset[str] = frozenset(), *, allows_without_acl: bool = False
    ) -> None:
        """`super_users` have their type, such as `User:admin`.

        `allows_without_acl` is `allow.everyone.if.no.acl.found`.
        """
        self.super_users = super_users
        self.allows_without_acl = allows_without_acl
        self.on_change: Callable[[], None] | None = None
        """Called after each change of the rules."""
        self._acls: dict[Acl, None] = {}
        self._by_pattern: dict[tuple[ResourceType, PatternType, str], _AclsByPrincipal] = {}
        self._prefix_lengths: dict[ResourceType, Counter[int]] = defaultdict(Counter)
        self._remembered: dict[_Question, Decision] = {}
        self._remembered_types: dict[_TypeQuestion, bool] = {}

    # Decisions -----------------------------------------------------------------------------------

    def authorize(
        self,
        principal: str,
        host: str,
        operation: AclOperation,
        resource_type: ResourceType,
        resource_name: str,
    ) -> Decision:
        """Decide about one operation of a principal such as `User:alice` on one resource.

        `host` is an address. A rule that denies decides before those that allow.
        """
        question = (principal, host, operation, resource_type, resource_name)
        decision = self._remembered.get(question)
        if decision is None:
            decision = self._decide(*question)
            _remember(self._remembered, question, decision, principal, resource_name)
        return decision

    def authorize_by_resource_type(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Whether a principal may do an operation on at least one resource of a type.

        Rules of other operations imply nothing here, as in Kafka.
        """
        question = (principal, host, operation, resource_type)
        is_allowed = self._remembered_types.get(question)
        if is_allowed is None:
            is_allowed = self._decide_by_resource_type(*question)
            _remember(self._remembered_types, question, is_allowed, principal)
        return is_allowed

    def _decide_by_resource_type(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Look at all rules of a type, of which there may be many."""
        if self.authorize(principal, host, operation, resource_type, _ANY_NAME).is_allowed:
            return True
        host = address_text(host)
        allowed: set[tuple[PatternType, str]] = set()
        denied: set[tuple[PatternType, str]] = set()
        for (patterns_type, pattern_type, name), by_principal in self._by_pattern.items():
            if patterns_type != resource_type:
                continue
            for acl in _of_principal(by_principal, principal):
                if acl.operation in {operation, AclOperation.ALL} and has_host(acl.host, host):
                    patterns = denied if acl.permission_type == PermissionType.DENY else allowed
                    patterns.add((pattern_type, name))
        everything = (PatternType.LITERAL, WILDCARD)
        if everything in denied:
            return False
        return everything in allowed or any(not _is_denied(pattern, denied) for pattern in allowed)

    def _decide(
        self,
        principal: str,
        host: str,
        operation: AclOperation,
        resource_type: ResourceType,
        resource_name: str,
    ) -> Decision:
        if principal in self.super_users:
            return Decision(True, SUPER_USER)
        host = address_text(host)
        has_acls = False
        allowing = None
        for by_principal in self._of_resource(resource_type, resource_name):
            has_acls = True
            matching = (
                acl
                for acl in _of_principal(by_principal, principal)
                if _is_about(acl, operation) and has_host(acl.host, host)
            )
            for acl in sorted(matching, key=_order):
                if acl.permission_type == PermissionType.DENY:
                    return Decision(False, acl)
                allowing = acl
        if allowing is not None:
            return Decision(True, allowing)
        if self.allows_without_acl and not has_acls:
            return Decision(True, DEFAULT_ALLOW)
        return Decision(False, DEFAULT_DENY)

    def _of_resource(self, resource_type: ResourceType, name: str) -> Iterator[_AclsByPrincipal]:
        """Yield the rules of each pattern that a resource has: its name, prefixes, all names."""
        patterns = [(resource_type, PatternType.LITERAL, name)]
        lengths = self._prefix_lengths.get(resource_type)
        if lengths:
            patterns += [
                (resource_type, PatternType.PREFIXED, name[:length])
                for length in sorted(lengths, reverse=True)
                if length <= len(name)
            ]
        if name != WILDCARD:
            patterns.append((resource_type, PatternType.LITERAL, WILDCARD))
        for pattern in patterns:
            if pattern in self._by_pattern:
                yield self._by_pattern[pattern]

    @property
    def remembered_count(self) -> int:
        """How many decisions are remembered."""
        return len(self._remembered) + len(self._remembered_types)

    # Rules ---------------------------------------------------------------------------------------

    def add(self, acl: Acl) -> bool:
        """Add a rule, whose types, operation and permission were checked; False if it is there."""
        if acl in self._acls:
            return False
        self._acls[acl] = None
        pattern = acl.resource_type, acl.pattern_type, acl.resource_name
        by_principal = self._by_pattern.get(pattern)
        if by_principal is None:
            by_principal = self._by_pattern[pattern] = {}
            if acl.pattern_type == PatternType.PREFIXED:
                self._prefix_lengths[acl.resource_type][len(acl.resource_name)] += 1
        by_principal.setdefault(acl.principal, {})[acl] = None
        self._note_change()
        return True

    def remove(self, acl: Acl) -> bool:
        """Remove a rule; False if there is no such rule."""
        if acl not in self._acls:
            return False
        del self._acls[acl]
        pattern = acl.resource_type, acl.pattern_type, acl.resource_name
        by_principal = self._by_pattern[pattern]
        del by_principal[acl.principal][acl]
        if not by_principal[acl.principal]:
            del by_principal[acl.principal]
        if not by_principal:
            del self._by_pattern[pattern]
            if acl.pattern_type == PatternType.PREFIXED:
                lengths = self._prefix_lengths[acl.resource_type]
                lengths[len(acl.resource_name)] -= 1
                if not lengths[len(acl.resource_name)]:
                    del lengths[len(acl.resource_name)]
        self._note_change()
        return True

    def __contains__(self, acl: Acl) -> bool:
        """Whether there is a rule."""
        return acl in self._acls

    def acls(self) -> list[Acl]:
        """Return all rules, in the order in which they were added."""
        return list(self._acls)

    @may_pause
    def matching(self, acl_filter: AclFilter) -> list[Acl]:
        """Return the rules of a filter, in the order in which they were added."""
        return [acl for acl in paced(self._candidates(acl_filter)) if acl_filter.matches(acl)]

    def _candidates(self, acl_filter: AclFilter) -> Iterable[Acl]:
        """Return rules, among them those of a filter: fewer than all if it names a pattern."""
        name, pattern_type = acl_filter.resource_name, acl_filter.pattern_type
        if name is None or pattern_type in {PatternType.ANY, PatternType.MATCH}:
            return self._acls
        if acl_filter.resource_type == ResourceType.ANY:
            return self._acls
        by_principal = self._by_pattern.get((acl_filter.resource_type, pattern_type, name), {})
        return [acl for acls in by_principal.values() for acl in acls]

    def _note_change(self) -> None:
        self._remembered.clear()
        self._remembered_types.clear()
        if self.on_change is not None:
            self.on_change()


def _remember(
    remembered: dict[_AnyQuestion, _Answer],
    question: _AnyQuestion,
    answer: _Answer,
    *names: str,
) -> None:
    """Keep the answer to a question with these names of a client, unless one of them is long."""
    if max(map(len, names)) <= REMEMBERED_LENGTH_MAX:
        if len(remembered) >= REMEMBERED_MAX:
            remembered.clear()
        remembered[question] = answer


def _of_principal(by_principal: _AclsByPrincipal, principal: str) -> list[Acl]:
    return [
        acl
        for name in {principal, WILDCARD_PRINCIPAL}
        if name in by_principal
        for acl in by_principal[name]
    ]


def _order(acl: Acl) -> tuple[AclOperation, str, str, PermissionType]:
    """Return the order of the rules of one pattern: the first that denies is the one that did."""
    return acl.operation, acl.principal, acl.host, acl.permission_type


def _is_about(acl: Acl, operation: AclOperation) -> bool:
    """Whether a rule is about an operation. One that allows READ, for example, allows DESCRIBE."""
    if acl.operation in {operation, AclOperation.ALL}:
        return True
    if acl.permission_type == PermissionType.DENY:
        return False
    if operation == AclOperation.DESCRIBE:
        return acl.operation in _IMPLY_DESCRIBE
    return (
        operation == AclOperation.DESCRIBE_CONFIGS and acl.operation == AclOperation.ALTER_CONFIGS
    )


def _is_denied(pattern: tuple[PatternType, str], denied: set[tuple[PatternType, str]]) -> bool:
    """Whether a rule denies all resources of a pattern that another rule allows."""
    pattern_type, name = pattern
    if pattern_type == PatternType.LITERAL and pattern in denied:
        return True
    return any((PatternType.PREFIXED, name[: end + 1]) in denied for end in range(len(name)))
