"""Search topics, groups and requests by words, one page at a time.

Only what is on the page is described: a refresh costs little more with 100,000 topics than with 10.
"""

from itertools import islice
from typing import Annotated, Any

import msgspec

from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.group_views import GroupView, group_view
from broker.http_admin.operation import INT32_MAX, Input, operation
from broker.http_admin.request_view import LineView
from broker.http_admin.state import Admin
from broker.http_admin.topics import TopicView, topic_view
from broker.journal.lines import Line
from broker.journal.rendering import describe_line
from protocol.pacing import may_pause, paced

PAGE_MAX = 1_000


class PageQuery(Input, kw_only=True):
    """What to look for: every word of `search` must occur, in any case; "" finds everything.

    The page has at most `limit` results, from the one at `offset` on.
    """

    search: str = ""
    offset: Annotated[int, msgspec.Meta(ge=0, le=INT32_MAX)] = 0
    limit: Annotated[int, msgspec.Meta(ge=0, le=PAGE_MAX)] = 100

    def fits(self, text: str) -> bool:
        """Return whether a text has all the words."""
        lowered = text.lower()
        return all(word in lowered for word in self.search.lower().split())

    @property
    def bounds(self) -> tuple[int, int]:
        """Where the page begins and ends in the results."""
        return self.offset, self.offset + self.limit


class ChangesQuery(PageQuery, kw_only=True):
    """With the `version` of a response to the same search, only what has changed since."""

    since: Annotated[str, msgspec.Meta(max_length=100)] = ""


class TopicPageQuery(ChangesQuery, kw_only=True):
    """As for all searches; `internal` topics, such as `__consumer_offsets`, only if it is set."""

    internal: bool = False


class TopicsPage(msgspec.Struct):
    """A page of topics in the order they were created; `total` is how many were found.

    `are_changes`: these are only the topics that have changed since the version of the query. The
    other topics of that response are on the page as they were.
    """

    total: int
    topics: list[TopicView]
    version: str
    are_changes: bool


class GroupsPage(msgspec.Struct):
    """A page of groups: those with members first, by their ids; `total` is how many were found.

    `are_changes`: these are only the groups that have changed since the version of the query. The
    other groups of that response are on the page as they were.
    """

    total: int
    groups: list[GroupView]
    version: str
    are_changes: bool


class RequestsPage(msgspec.Struct):
    """A page of the journal without the decoded messages, newest first.

    `total` is how many lines were found.
    """

    total: int
    requests: list[LineView]


@operation("GET", "/v1/search/topics", tag="search", turn_kind=TurnKind.READING)
@may_pause
def search_topics(admin: Admin, query: TopicPageQuery) -> TopicsPage:
    """Search topics by their names."""
    found = [
        topic
        for topic in paced(admin.cluster.topics.all())
        if (query.internal or not topic.is_internal) and query.fits(topic.name)
    ]
    page = paced(found[slice(*query.bounds)])
    views = {topic.name: topic_view(topic) for topic in page}
    return TopicsPage(len(found), *admin.changes.since(query.since, "topic", views))


@operation("GET", "/v1/search/groups", tag="search", turn_kind=TurnKind.READING)
@may_pause
def search_groups(admin: Admin, query: ChangesQuery) -> GroupsPage:
    """Search groups of all types by their ids."""
    cluster = admin.cluster
    listings = (*cluster.groups.table.list_groups(), *cluster.share.groups.list_groups())
    found = sorted(
        (listing.state == "Empty", listing.group_id)
        for listing in paced(listings)
        if query.fits(listing.group_id)
    )
    page = paced(found[slice(*query.bounds)])
    views = {group_id: group_view(admin, group_id) for _is_empty, group_id in page}
    known = {group_id: view for group_id, view in views.items() if view is not None}
    return GroupsPage(len(found), *admin.changes.since(query.since, "group", known))


@operation("GET", "/v1/search/requests", tag="search", turn_kind=TurnKind.READING)
@may_pause
def search_requests(admin: Admin, query: PageQuery) -> RequestsPage:
    """Search the journal by API, client, user, topics, groups, errors, outcome and fault rule."""
    newest_first = reversed(admin.journal)
    if query.search.split():
        found = [line for line in paced(newest_first) if query.fits(_text(_view(admin, line)))]
        total, page = len(found), found[slice(*query.bounds)]
    else:
        total, page = len(admin.journal), list(islice(newest_first, *query.bounds))
    return RequestsPage(total, [_view(admin, line) for line in paced(page)])


@may_pause
def _view(admin: Admin, line: Line) -> dict[str, Any]:
    return describe_line(line, admin.topic_name, has_bodies=False)


def _text(described: dict[str, Any]) -> str:
    """Return what a search for a line of the journal looks at."""
    names = ("topics", "groups", "transactional_ids", "errors")
    parts = [described.get(key) for key in ("kind", "api", "client_id", "user", "outcome", "fault")]
    return " ".join(
        [part for part in (*parts, described.get("reason")) if part]
        + (["denied"] if described.get("denials") else [])
        + [text for name in names for text in described.get(name, ())]
    )
