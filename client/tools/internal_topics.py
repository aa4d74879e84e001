"""Delete the topics that Kafka Streams keeps for a streams group, as kafka-streams-groups.sh does.

Source: Kafka's `StreamsGroupCommand`.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Mapping

from client.admin import Admin
from client.errors import ApiError
from client.resources import GroupDescription
from protocol.errors import ErrorCode

_ENDINGS = (
    "-changelog",
    "-repartition",
    "-subscription-registration-topic",
    "-subscription-response-topic",
)
_FOREIGN_KEY_JOIN = re.compile(
    r".+-KTABLE-FK-JOIN-SUBSCRIPTION-(?:REGISTRATION|RESPONSE)-[0-9]+-topic"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of kafka-streams-groups.sh for internal topics."""
    parser.add_argument(
        "--delete-internal-topic",
        action="append",
        default=[],
        metavar="T",
        help="with --reset-offsets --execute: also delete a topic of a streams group; can be"
        " repeated",
    )
    parser.add_argument(
        "--delete-all-internal-topics",
        action="store_true",
        help="with --delete, or --reset-offsets --execute: also delete changelog and repartition"
        " topics of streams groups",
    )


def option_problem(parsed: argparse.Namespace) -> str | None:
    """Return why the options of a call exclude each other, or None."""
    is_reset = parsed.action == "reset-offsets" and parsed.execute
    if parsed.delete_all_internal_topics:
        is_fine = is_reset or parsed.action == "delete"
        return (
            None
            if is_fine
            else ("--delete-all-internal-topics needs --delete, or --reset-offsets with --execute")
        )
    if parsed.delete_internal_topic and not is_reset:
        return "--delete-internal-topic needs --reset-offsets with --execute"
    return None


def internal_topics(group: GroupDescription) -> list[str]:
    """Return the internal topics of a group; say on standard error which have another name.

    A source topic is never one, and neither is one whose name does not begin with the group's.
    """
    sources = {name for part in group.subtopologies for name in part.source_topics}
    found: dict[str, None] = {}
    for part in group.subtopologies:
        found |= dict.fromkeys((*part.repartition_topics, *part.changelog_topics))
    names = [name for name in found if name not in sources]
    for name in names:
        if not _is_inferred(name, group.group_id):
            print(
                f"The internal topic '{name}' is not inferred as internal and thus will not be"
                f" deleted with the group '{group.group_id}'.",
                file=sys.stderr,
            )
    return [name for name in names if _is_inferred(name, group.group_id)]


def _is_inferred(name: str, group_id: str) -> bool:
    return name.startswith(f"{group_id}-") and (
        name.endswith(_ENDINGS) or _FOREIGN_KEY_JOIN.fullmatch(name) is not None
    )


def topics_to_delete(
    admin: Admin, group_ids: Iterable[str], parsed: argparse.Namespace
) -> dict[str, list[str]]:
    """Return the topics that a call deletes with each group, before the groups are gone."""
    if not parsed.delete_all_internal_topics:
        named = list(parsed.delete_internal_topic)
        return dict.fromkeys(group_ids, named) if named else {}
    described = admin.describe_groups(group_ids)
    return {
        group_id: names
        for group_id, group in described.items()
        if isinstance(group, GroupDescription) and (names := internal_topics(group))
    }


def delete_after_reset(admin: Admin, topics: Mapping[str, list[str]]) -> ApiError | None:
    """Delete the topics of groups whose offsets were reset; return what failed first, or None."""
    failures = []
    for group_id, names in topics.items():
        error = _first_error(admin.delete_topics(names))
        if error is not None:
            reason = (
                "because the topics do not exist."
                if error.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                else f"due to {error}"
            )
            message = f"Deleting internal topics for group '{group_id}' failed {reason}"
            failures.append(ApiError(error.error_code, message))
    return next(iter(failures), None)


def delete_after_groups(admin: Admin, topics: Mapping[str, list[str]]) -> None:
    """Delete the topics of deleted groups, and print what became of them."""
    failures = {}
    for group_id, names in topics.items():
        outcomes = admin.delete_topics(names)
        for name, outcome in outcomes.items():
            if outcome is not None:
                print(f"Failed to delete internal topic: {name}")
        error = _first_error(outcomes)
        if error is not None:
            failures[group_id] = error
    if not failures and topics:
        groups = "', '".join(topics)
        print(
            f"Deletion of associated internal topics of the streams groups ('{groups}') was"
            " successful."
        )
    if failures:
        print("Deletion of some associated internal topics failed:")
    for group_id, error in failures.items():
        print(
            f"* Internal topics of the streams group '{group_id}' could not be deleted due to:"
            f" {error}"
        )


def _first_error(outcomes: Mapping[str, ApiError | None]) -> ApiError | None:
    return next((error for error in outcomes.values() if error is not None), None)
