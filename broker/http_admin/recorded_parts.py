"""The parts of a snapshot that only a recording of another cluster has; loading ignores them.

They are what the cluster said of itself, and what was asked of it.
"""

from typing import Annotated

import msgspec

from broker.http_admin.operation import Count, Input, Name, NodeId

_OTHER_FEATURES = frozenset({"kraft.version"})
"""Features that a cluster in one process does not have."""

VersionSpan = Annotated[list[int], msgspec.Meta(min_length=2, max_length=2)]
"""The lowest and the highest version of an API."""


class RecordedBroker(Input, omit_defaults=True):
    """A broker, with its rack if it has one."""

    node_id: NodeId
    rack: str | None = None


class RecordedUser(Input):
    """A SCRAM user. Salt and keys are secrets, so nobody can authenticate as this user."""

    user: Name
    mechanism: str
    iterations: int


class RecordedGroup(Input, omit_defaults=True):
    """A group as the cluster listed it: type (`classic`, ...), state and protocol type."""

    group_id: str
    type: str = ""
    state: str = ""
    protocol_type: str = ""


class RecordedCluster(Input, omit_defaults=True):
    """What a cluster said of itself.

    `release` is the newest one whose API versions fit, such as `4.4`. `api_versions` has the lowest
    and the highest version by API, and `features` the finalized levels.
    """

    cluster_id: str | None = None
    brokers: list[RecordedBroker] = msgspec.field(default_factory=list)
    release: str | None = None
    api_versions: dict[str, VersionSpan] = msgspec.field(default_factory=dict)
    features: dict[str, int] = msgspec.field(default_factory=dict)
    users: list[RecordedUser] = msgspec.field(default_factory=list)
    groups: list[RecordedGroup] = msgspec.field(default_factory=list)

    @property
    def config(self) -> dict[str, str]:
        """The configuration with which a cluster of ours is like this one.

        It has the node ids, racks, cluster id, API versions and levels of features.
        """
        config = {f"broker.{one.node_id}.broker.rack": one.rack or "" for one in self.brokers}
        if self.brokers:
            config["node.id"] = str(self.brokers[0].node_id)
        config["cluster.id"] = self.cluster_id or ""
        if self.release:
            config["broker.api.versions"] = self.release
            config["cluster.features"] = ",".join(
                f"{name}={level}"
                for name, level in self.features.items()
                if name not in _OTHER_FEATURES
            )
        return {key: value for key, value in config.items() if value}


class AskedRequest(Input, omit_defaults=True):
    """What requests of one kind named: they had the same API and version, and were of one user.

    `count` requests named these groups, transactional ids and resources, and each of them some of
    `topics`. Resources are such as `BROKER:1` (configuration), `ACL:TOPIC:orders`,
    `QUOTA:user=alice` and `USER:alice` (SCRAM).
    """

    api: str
    version: Annotated[int, msgspec.Meta(ge=0, le=2**15 - 1)]
    user: str = ""
    topics: list[str] = msgspec.field(default_factory=list)
    groups: list[str] = msgspec.field(default_factory=list)
    transactional_ids: list[str] = msgspec.field(default_factory=list)
    resources: list[str] = msgspec.field(default_factory=list)
    count: Count = 1
